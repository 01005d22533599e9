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

}  // namespace normbench::ops
