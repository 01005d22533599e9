#include "optim/gated_adamw.h"

#include <torch/torch.h>

#include <cmath>

#include "optim/checks.h"

namespace normbench {

GatedAdamW::GatedAdamW(const std::vector<ParameterGroup>& groups, const GatedAdamWOptions& o)
    : options_(o) {
  check_limits(o, "gated_adamw");
  for (const auto& group : groups)
    slots_.push_back({group.name, group.tensor, torch::zeros_like(group.tensor),
                      torch::zeros_like(group.tensor), group.decay ? o.weight_decay : 0.0});
}

torch::Tensor GatedAdamW::denominator(const torch::Tensor& v) const {
  const auto v_hat = v / (1 - std::pow(options_.beta2, static_cast<double>(t_)));
  return v_hat.sqrt_().add_(options_.eps_num);
}

torch::Tensor GatedAdamW::gamma(const torch::Tensor& d) const {
  return d.log().sub_(std::log(options_.eps_gate)).mul_(options_.a).sigmoid_();
}

void GatedAdamW::step(double lr) {
  torch::NoGradGuard no_grad;
  ++t_;
  for (auto& [name, theta, m, v, weight_decay] : slots_) {
    const auto g = theta.grad();
    if (!g.defined()) continue;
    m.lerp_(g, 1 - options_.beta1);                             // (1)
    v.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);  // (1)
    const auto m_hat = m / (1 - std::pow(options_.beta1, static_cast<double>(t_)));
    const auto d = denominator(v);
    theta.mul_(1 - lr * weight_decay);                              // (4), decay
    theta.addcmul_(gamma(d), m_hat.div_(d), -lr * options_.alpha);  // (4), step
  }
}

std::map<std::string, torch::Tensor> GatedAdamW::state() const {
  std::map<std::string, torch::Tensor> state;
  for (const auto& slot : slots_) {
    state["m." + slot.name] = slot.m;
    state["v." + slot.name] = slot.v;
  }
  state["t"] = torch::scalar_tensor(t_, torch::kLong);
  return state;
}

void GatedAdamW::load_state(const std::map<std::string, torch::Tensor>& from) {
  auto mine = state();
  restore_(mine, from);
  t_ = mine.at("t").item<int64_t>();
}

torch::Tensor GatedAdamW::gate(const std::string& name) const {
  torch::NoGradGuard no_grad;
  for (const auto& slot : slots_)
    if (slot.name == name) return gamma(denominator(slot.v));
  TORCH_CHECK(false, "gated_adamw: no parameter is called ", name);
}

std::map<std::string, double> GatedAdamW::diagnostics() const {
  if (t_ == 0) return {};
  torch::NoGradGuard no_grad;
  double sum = 0, count = 0;
  for (const auto& slot : slots_) {
    sum += gamma(denominator(slot.v)).sum(torch::kDouble).item<double>();
    count += static_cast<double>(slot.v.numel());
  }
  return {{"mean_gate", sum / count}};
}

}  // namespace normbench
