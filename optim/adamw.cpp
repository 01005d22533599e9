#include "optim/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <torch/torch.h>

#include <cmath>

#include "suite/base/errors.h"

namespace normbench {

AdamW::AdamW(const std::vector<ParameterGroup>& groups, const AdamWOptions& options)
    : options_(options) {
  const auto in_range = [](const char* name, double value, bool fits, const char* expected) {
    if (!fits)
      throw UserError({.what = "an option of adamw is out of range",
                       .where = name,
                       .found = std::to_string(value),
                       .expected = expected});
  };
  in_range("beta1", options.beta1, options.beta1 >= 0 && options.beta1 < 1, "0 <= beta1 < 1");
  in_range("beta2", options.beta2, options.beta2 >= 0 && options.beta2 < 1, "0 <= beta2 < 1");
  in_range("eps", options.eps, options.eps >= 0, "0 or more");
  in_range("weight_decay", options.weight_decay, options.weight_decay >= 0, "0 or more");

  bool fusible = true;
  for (const auto& group : groups) {
    slots_.push_back({group.name, group.tensor, torch::zeros_like(group.tensor),
                      torch::zeros_like(group.tensor), group.decay ? options.weight_decay : 0.0});
    fusible =
        fusible && group.tensor.device().is_cpu() && group.tensor.scalar_type() == torch::kFloat;
  }
  if (options.implementation == "fused" && !fusible)
    throw UserError({.what = "the fused AdamW works on fp32 weights on the CPU only",
                     .where = "optimizer_options/implementation",
                     .found = "\"fused\"",
                     .expected = "\"auto\" or \"plain\" for these weights"});
  fused_ = fusible && options.implementation != "plain";
}

void AdamW::step(double lr) {
  torch::NoGradGuard no_grad;
  ++t_;
  fused_ ? step_fused(lr) : step_plain(lr);
}

void AdamW::step_plain(double lr) {
  const auto t = static_cast<double>(t_);
  for (auto& [name, theta, m, v, weight_decay] : slots_) {
    const auto g = theta.grad();
    if (!g.defined()) continue;
    m.lerp_(g, 1 - options_.beta1);                               // line 7
    v.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);    // line 8
    const auto m_hat = m / (1 - std::pow(options_.beta1, t));     // line 9
    const auto v_hat = v / (1 - std::pow(options_.beta2, t));     // line 10
    theta.mul_(1 - lr * weight_decay);                            // line 12, decay
    theta.addcdiv_(m_hat, v_hat.sqrt().add_(options_.eps), -lr);  // line 12, step
  }
}

void AdamW::step_fused(double lr) {
  // One call for the tensors that decay and one for the others.
  for (const bool decays : {false, true}) {
    std::vector<torch::Tensor> theta, g, m, v;
    for (const auto& slot : slots_) {
      if ((slot.weight_decay != 0) != decays || !slot.theta.grad().defined()) continue;
      theta.push_back(slot.theta);
      g.push_back(slot.theta.grad());
      m.push_back(slot.m);
      v.push_back(slot.v);
    }
    if (theta.empty()) continue;
    // The kernel reads the count of the step that it makes, one for each tensor.
    const std::vector<torch::Tensor> t(
        theta.size(), torch::scalar_tensor(static_cast<double>(t_), torch::kFloat));
    at::_fused_adamw_(theta, g, m, v, /*max_exp_avg_sqs=*/{}, t, lr, options_.beta1, options_.beta2,
                      decays ? options_.weight_decay : 0.0, options_.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

std::map<std::string, torch::Tensor> AdamW::state() const {
  std::map<std::string, torch::Tensor> state;
  for (const auto& slot : slots_) {
    state["m." + slot.name] = slot.m;
    state["v." + slot.name] = slot.v;
  }
  state["t"] = torch::scalar_tensor(t_, torch::kLong);
  return state;
}

void AdamW::load_state(const std::map<std::string, torch::Tensor>& state) {
  torch::NoGradGuard no_grad;
  const auto find = [&](const std::string& name) {
    const auto found = state.find(name);
    if (found == state.end())
      throw UserError({.what = "the checkpoint lacks a part of the optimiser's state",
                       .where = name,
                       .todo = "was it written by another optimiser or another model?"});
    return found->second;
  };
  const auto copy = [&](torch::Tensor& to, const std::string& name) {
    const auto from = find(name);
    if (from.sizes() != to.sizes() || from.scalar_type() != to.scalar_type())
      throw UserError({.what = "the optimiser's state in the checkpoint does not fit the model",
                       .where = name});
    to.copy_(from);
  };
  if (state.size() != 2 * slots_.size() + 1)
    throw UserError(
        {.what = "the checkpoint holds another number of optimiser tensors than the model needs",
         .found = std::to_string(state.size()),
         .expected = std::to_string(2 * slots_.size() + 1)});
  for (auto& slot : slots_) {
    copy(slot.m, "m." + slot.name);
    copy(slot.v, "v." + slot.name);
  }
  t_ = find("t").item<int64_t>();
}

}  // namespace normbench
