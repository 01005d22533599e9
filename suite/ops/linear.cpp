#include "suite/ops/linear.h"

#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

std::vector<int64_t> output_shape(const torch::Tensor& x, int64_t out) {
  auto shape = x.sizes().vec();
  shape.back() = out;
  return shape;
}

}  // namespace

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight) {
  TORCH_CHECK(x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1), "linear: x is ", x.sizes(), ", weight is ",
              weight.sizes(), "; expected x [..., in] and weight [out, in]");
  const auto rows = x.reshape({-1, weight.size(1)});
  return rows.mm(weight.to(x.scalar_type()).t()).view(output_shape(x, weight.size(0)));
}

std::vector<torch::Tensor> linear_many(const torch::Tensor& x, const std::vector<torch::Tensor>& weights) {
  std::vector<int64_t> sizes;
  for (const auto& weight : weights) sizes.push_back(weight.size(0));
  return ops::linear(x, at::cat(weights, 0)).split_with_sizes(sizes, -1);
}

torch::Tensor linear_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                   const std::optional<torch::Tensor>& scale, const torch::Tensor& targets) {
  TORCH_CHECK(h.dim() == 2 && weight.dim() == 2 && h.size(1) == weight.size(1) && targets.dim() == 1 &&
                  targets.size(0) == h.size(0) && (!scale || (scale->dim() == 1 && scale->size(0) == weight.size(0))),
              "linear_cross_entropy: h is ", h.sizes(), ", weight is ", weight.sizes(), ", targets are ", targets.sizes(),
              "; expected h [N, D], weight [V, D], scale [V] or none, targets [N]");
  return reference::linear_cross_entropy(h, weight, scale, targets);
}

}  // namespace normbench::ops
