#pragma once

#include <torch/types.h>

namespace normbench::ops {

/// y = softmax_causal(scale * q k^T) v per head. q, k, v: [B, T, H, Dh]; returns [B, T, H, Dh].
/// Heads of k and v may be fewer: query head h reads head floor(h / (H / K)).
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, double scale);

}  // namespace normbench::ops
