#include "optim/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <torch/torch.h>

#include <cmath>

#include "optim/checks.h"
#include "suite/base/errors.h"

namespace normbench {

AdamW::AdamW(const std::vector<ParameterGroup>& groups, const AdamWOptions& options)
    : options_(options) {
  check_limits(options, "adamw");

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

void AdamW::load_state(const std::map<std::string, torch::Tensor>& from) {
  auto mine = state();
  restore_(mine, from);
  t_ = mine.at("t").item<int64_t>();
}

}  // namespace normbench
