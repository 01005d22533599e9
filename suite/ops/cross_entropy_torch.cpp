#include <torch/csrc/autograd/custom_function.h>

#include "suite/ops/blocks.h"
#include "suite/ops/linear.h"
#include "suite/ops/reference.h"
#include "suite/ops/visit_logits.h"

namespace normbench::ops {

// The gradient of the logits is written over them in the forward pass: they are the largest tensor
// of a training step, and this way they are visited once.
LossAndGradient visit_logits(const torch::Tensor& h, const torch::Tensor& weight,
                             const std::optional<torch::Tensor>& scale,
                             const torch::Tensor& targets, bool gradient) {
  const auto u = h.mm(weight.t());
  const int64_t rows = u.size(0), n = u.size(1);
  const auto losses = at::empty({num_blocks(rows)}, at::kDouble),
             scratch = at::empty({num_blocks(rows), n}, u.options());
  const auto dscale = gradient && scale ? block_shares(rows, n, u) : torch::Tensor();
  each_block(rows, n, [&](int64_t block, cpu::RowRange range) {
    losses.data_ptr<double>()[block] = cpu::cross_entropy(
        range, data(u), scale ? data(*scale) : nullptr, targets.data_ptr<int64_t>(),
        1.0f / static_cast<float>(rows), gradient,
        dscale.defined() ? data(dscale) + block * n : nullptr, data(scratch) + block * n);
  });
  double loss = 0;
  for (int64_t block = 0; block < losses.size(0); ++block) loss += losses.data_ptr<double>()[block];
  return {at::scalar_tensor(loss / static_cast<double>(rows), h.options()),
          gradient ? u : torch::Tensor(), dscale.defined() ? sum_in_order(dscale) : dscale};
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& h,
                               const torch::Tensor& weight,
                               const std::optional<torch::Tensor>& scale,
                               const torch::Tensor& targets) {
    const auto result = visit_logits(h, weight, scale, targets, /*gradient=*/true);
    ctx->save_for_backward({h, weight, result.du, result.dscale});
    return result.loss;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("linear_cross_entropy");
    const auto saved = ctx->get_saved_variables();
    const auto &h = saved[0], &weight = saved[1], &du = saved[2], &dscale = saved[3];
    return {du.mm(weight).mul_(grads[0]), du.t().mm(h).mul_(grads[0]),
            dscale.defined() ? dscale * grads[0] : dscale, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor linear_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                   const std::optional<torch::Tensor>& scale,
                                   const torch::Tensor& targets) {
  TORCH_CHECK(h.dim() == 2 && weight.dim() == 2 && h.size(1) == weight.size(1) &&
                  targets.dim() == 1 && targets.size(0) == h.size(0) &&
                  (!scale || (scale->dim() == 1 && scale->size(0) == weight.size(0))),
              "linear_cross_entropy: h is ", h.sizes(), ", weight is ", weight.sizes(),
              ", targets are ", targets.sizes(),
              "; expected h [N, D], weight [V, D], scale [V] or none, targets [N]");
  if (!kernel_takes({h, weight, scale.value_or(weight)}))
    return reference::linear_cross_entropy(h, weight, scale, targets);
  TORCH_CHECK(targets.scalar_type() == torch::kLong, "linear_cross_entropy: targets are ",
              targets.scalar_type(), "; expected int64");
  const auto target = targets.contiguous();
  const auto [low, high] = target.aminmax();
  TORCH_CHECK(low.item<int64_t>() >= 0 && high.item<int64_t>() < weight.size(0),
              "linear_cross_entropy: targets reach from ", low.item<int64_t>(), " to ",
              high.item<int64_t>(), "; expected 0 to ", weight.size(0) - 1);
  const auto factor = scale ? std::optional(scale->contiguous()) : std::nullopt;
  const bool gradient =
      at::GradMode::is_enabled() &&
      (h.requires_grad() || weight.requires_grad() || (scale && scale->requires_grad()));
  if (!gradient) return visit_logits(h, weight, factor, target, false).loss;
  return LinearCrossEntropy::apply(h, weight, factor, target);
}

}  // namespace normbench::ops
