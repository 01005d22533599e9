#include "optim/muon.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "optim/checks.h"

namespace normbench {

namespace {

std::vector<ParameterGroup> other_groups(const std::vector<ParameterGroup>& groups) {
  std::vector<ParameterGroup> others;
  for (const auto& group : groups)
    if (!group.hidden_matrix) others.push_back(group);
  return others;
}

/// All of them here, before AdamW is made, whose messages would speak of its own options.
MuonOptions checked(const MuonOptions& o) {
  check_limits(o, "muon");
  return o;
}

}  // namespace

torch::Tensor newton_schulz(const torch::Tensor& u, int64_t steps, double eps) {
  const bool tall = u.size(0) > u.size(1);
  auto x = tall ? u.t() : u;
  x = x / x.norm().clamp_min(eps);  // (3)
  for (int64_t i = 0; i < steps; ++i) {
    const auto gram = x.mm(x.t());
    x = torch::addmm(x, torch::addmm(gram, gram, gram, -4.7750, 2.0315), x, 3.4445, 1);  // (4)
  }
  return tall ? x.t() : x;
}

Muon::Muon(const std::vector<ParameterGroup>& groups, const MuonOptions& o)
    : options_(checked(o)),
      adamw_(other_groups(groups), {.beta1 = o.adam_beta1,
                                    .beta2 = o.adam_beta2,
                                    .eps = o.adam_eps,
                                    .weight_decay = o.weight_decay}) {
  for (const auto& group : groups) {
    if (!group.hidden_matrix) continue;
    TORCH_CHECK(group.tensor.dim() == 2, "muon: ", group.name, " is ", group.tensor.sizes(),
                ", but is called a matrix");
    const auto rows = static_cast<double>(group.tensor.size(0)),
               columns = static_cast<double>(group.tensor.size(1));
    const double scale = o.scale == "rms" ? 0.2 * std::sqrt(std::max(rows, columns))
                                          : std::sqrt(std::max(1.0, rows / columns));  // (6)
    slots_.push_back({group.name, group.tensor, torch::zeros_like(group.tensor),
                      group.decay ? o.weight_decay : 0.0, scale});
  }
}

void Muon::step(double lr) {
  torch::NoGradGuard no_grad;
  adamw_.step(lr);
  for (auto& [name, theta, momentum, weight_decay, scale] : slots_) {
    const auto g = theta.grad();
    if (!g.defined()) continue;
    momentum.lerp_(g, 1 - options_.momentum);  // (1)
    const auto u =
        options_.nesterov ? torch::lerp(g, momentum, options_.momentum) : momentum;  // (2)
    theta.mul_(1 - lr * weight_decay);                                               // (5)
    theta.add_(newton_schulz(u, options_.newton_schulz_steps, options_.eps), -lr * scale);
  }
}

std::map<std::string, torch::Tensor> Muon::state() const {
  auto state = adamw_.state();
  for (const auto& slot : slots_) state["momentum." + slot.name] = slot.momentum;
  return state;
}

void Muon::load_state(const std::map<std::string, torch::Tensor>& from) {
  check_state(state(), from);  // of both, before either changes
  std::map<std::string, torch::Tensor> ours, adamw;
  for (const auto& [name, tensor] : from)
    (name.starts_with("momentum.") ? ours : adamw)[name] = tensor;
  std::map<std::string, torch::Tensor> mine;
  for (const auto& slot : slots_) mine["momentum." + slot.name] = slot.momentum;
  restore_(mine, ours);
  adamw_.load_state(adamw);
}

}  // namespace normbench
