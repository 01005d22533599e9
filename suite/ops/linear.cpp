#include "suite/ops/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "suite/ops/blocks.h"

namespace normbench::ops {
namespace {

std::vector<int64_t> output_shape(const torch::Tensor& x, int64_t out) {
  auto shape = x.sizes().vec();
  shape.back() = out;
  return shape;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y_i = x W_i^T, each contiguous. The gradient of x is summed inside the products (beta = 1): no
// sum of whole tensors, and no copy as in a product with the concatenated weights, which is no
// faster at these sizes (ops_bench.cpp). x: [N, in].
struct LinearMany : torch::autograd::Function<LinearMany> {
  static variable_list forward(AutogradContext* ctx, const torch::Tensor& x,
                               at::TensorList weights) {
    variable_list saved = {x}, y;
    for (const auto& weight : weights) {
      saved.push_back(weight);
      y.push_back(x.mm(weight.t()));
    }
    ctx->save_for_backward(std::move(saved));
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list dys) {
    refuse_second_derivative("linear_many");
    const auto saved = ctx->get_saved_variables();
    const auto& x = saved[0];
    variable_list grads(saved.size());
    for (size_t i = 0; i < dys.size(); ++i) {
      const auto &dy = dys[i], &weight = saved[i + 1];
      grads[i + 1] = dy.t().mm(x);
      grads[0] = grads[0].defined() ? grads[0].addmm_(dy, weight) : dy.mm(weight);
    }
    return grads;
  }
};

}  // namespace

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight) {
  TORCH_CHECK(x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1), "linear: x is ",
              x.sizes(), ", weight is ", weight.sizes(),
              "; expected x [..., in] and weight [out, in]");
  const auto rows = x.reshape({-1, weight.size(1)});
  return rows.mm(weight.to(x.scalar_type()).t()).view(output_shape(x, weight.size(0)));
}

std::vector<torch::Tensor> linear_many(const torch::Tensor& x,
                                       const std::vector<torch::Tensor>& weights) {
  if (!fused() || x.scalar_type() == torch::kDouble || weights.size() < 2) {
    std::vector<torch::Tensor> y;
    for (const auto& weight : weights) y.push_back(ops::linear(x, weight));
    return y;
  }
  std::vector<torch::Tensor> cast;
  for (const auto& weight : weights) {
    TORCH_CHECK(x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1),
                "linear_many: x is ", x.sizes(), ", weight is ", weight.sizes(),
                "; expected x [..., in] and weights [out, in]");
    cast.push_back(weight.to(x.scalar_type()));
  }
  auto y = LinearMany::apply(x.reshape({-1, x.size(-1)}), at::TensorList(cast));
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i].view(output_shape(x, weights[i].size(0)));
  return y;
}

}  // namespace normbench::ops
