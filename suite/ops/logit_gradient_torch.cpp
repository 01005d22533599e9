#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "suite/ops/blocks.h"
#include "suite/ops/linear.h"
#include "suite/ops/logit_gradient.h"
#include "suite/ops/reference.h"
#include "suite/ops/visit_logits.h"

namespace normbench::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kSmallestScale = 1e-6;

/// c dL/dz, from the logits once more: s dL/dz has lost dL/dz where s vanishes.
torch::Tensor weighted_gradient(const torch::Tensor& h, const torch::Tensor& weight,
                                const torch::Tensor& s, const torch::Tensor& targets,
                                const torch::Tensor& c) {
  auto dz = (h.mm(weight.t()) * s).softmax(-1);
  const auto target = targets.unsqueeze(1);
  dz.scatter_add_(1, target, at::full_like(target, -1, dz.options()));
  return dz.mul_(c).div_(static_cast<double>(h.size(0)));
}

struct LgpCrossEntropy : torch::autograd::Function<LgpCrossEntropy> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& h,
                               const torch::Tensor& weight, const torch::Tensor& s,
                               const torch::Tensor& targets, double q) {
    const auto result = visit_logits(h, weight, s, targets, /*gradient=*/true);
    const auto c = lgp_weights(s, q);
    const bool divisible = s.abs().min().item<float>() >= kSmallestScale;
    const auto du = divisible ? result.du.mul_(c / s) : weighted_gradient(h, weight, s, targets, c);
    ctx->save_for_backward({h, weight, du, result.dscale});
    return result.loss;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("lgp_cross_entropy");
    const auto saved = ctx->get_saved_variables();
    const auto &h = saved[0], &weight = saved[1], &du = saved[2], &dscale = saved[3];
    return {du.mm(weight).mul_(grads[0]), du.t().mm(h).mul_(grads[0]), dscale * grads[0],
            torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor lgp_weights(const torch::Tensor& s, double q) {
  const at::NoGradGuard no_grad;
  if (q == 0) return at::ones_like(s);
  if (q == 1) return s / s.mean().abs();
  const auto size = s.abs().clamp_min(kSmallestScale);
  return (size / size.mean()).pow(q);
}

torch::Tensor lgp_logits(const torch::Tensor& u, const torch::Tensor& s, double q) {
  TORCH_CHECK(s.dim() == 1 && u.dim() >= 1 && u.size(-1) == s.size(0), "lgp_logits: u is ",
              u.sizes(), ", s is ", s.sizes(), "; expected [..., V] and [V]");
  const auto value = u.detach();
  return lgp_weights(s, q) * (u - value) + value * s;
}

torch::Tensor lgp_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                const torch::Tensor& s, const torch::Tensor& targets,
                                std::optional<double> q) {
  const bool gradient = at::GradMode::is_enabled() &&
                        (h.requires_grad() || weight.requires_grad() || s.requires_grad());
  // Also where all shapes and targets are checked.
  if (!q || !gradient) return linear_cross_entropy(h, weight, s, targets);
  TORCH_CHECK(std::isfinite(*q), "lgp_cross_entropy: q is ", *q, "; expected a finite number");
  TORCH_CHECK(h.dim() == 2 && weight.dim() == 2 && h.size(1) == weight.size(1) && s.dim() == 1 &&
                  s.size(0) == weight.size(0) && targets.dim() == 1 &&
                  targets.size(0) == h.size(0) && targets.scalar_type() == torch::kLong,
              "lgp_cross_entropy: h is ", h.sizes(), ", weight is ", weight.sizes(), ", s is ",
              s.sizes(), ", targets are ", targets.sizes(),
              "; expected h [N, D], weight [V, D], s [V], targets [N] int64");
  if (kernel_takes({h, weight, s})) {
    const auto [low, high] = targets.aminmax();
    TORCH_CHECK(low.item<int64_t>() >= 0 && high.item<int64_t>() < weight.size(0),
                "lgp_cross_entropy: targets reach from ", low.item<int64_t>(), " to ",
                high.item<int64_t>(), "; expected 0 to ", weight.size(0) - 1);
    return LgpCrossEntropy::apply(h, weight, s.contiguous(), targets.contiguous(), *q);
  }
  const auto u = reference::widen(h.mm(weight.to(h.scalar_type()).t()));  // [N, V]
  return at::cross_entropy_loss(lgp_logits(u, s, *q), targets);
}

}  // namespace normbench::ops
