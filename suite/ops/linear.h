#pragma once

#include <torch/types.h>

#include <optional>
#include <vector>

namespace normbench::ops {

/// y = x W^T with W cast to the type of x. x: [..., in], W: [out, in] (master weight). Returns
/// [..., out].
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight);

/// linear() for several weights that read the same x; returns one contiguous [..., out_i] a weight.
/// The gradient of x is summed inside the products.
std::vector<torch::Tensor> linear_many(const torch::Tensor& x,
                                       const std::vector<torch::Tensor>& weights);

/// Mean cross-entropy of softmax(scale * (h W^T)) in nats per token; logits and loss in fp32 or
/// wider. h: [N, D]; weight: [V, D]; scale: [V] or none; targets: [N] int64. Returns a scalar.
torch::Tensor linear_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                   const std::optional<torch::Tensor>& scale,
                                   const torch::Tensor& targets);

}  // namespace normbench::ops
