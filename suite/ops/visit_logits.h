// The one visit of the logits that linear_cross_entropy and lgp_cross_entropy share. For their
// *_torch.cpp files only.
#pragma once

#include <torch/types.h>

#include <optional>

namespace normbench::ops {

struct LossAndGradient {
  torch::Tensor loss;  // mean over the rows
  torch::Tensor
      du;  // d loss / d(h W^T), [N, V], in the memory of the logits; undefined without gradient
  torch::Tensor dscale;  // [V], undefined without scale or gradient
};

/// fp32 on the CPU; targets contiguous and in range.
LossAndGradient visit_logits(const torch::Tensor& h, const torch::Tensor& weight,
                             const std::optional<torch::Tensor>& scale,
                             const torch::Tensor& targets, bool gradient);

}  // namespace normbench::ops
