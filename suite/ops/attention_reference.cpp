#include <ATen/ATen.h>

#include <limits>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, double scale) {
  const auto tokens = q.size(1), group = q.size(2) / k.size(2);
  const auto heads_first = [&](const torch::Tensor& x, int64_t repeats) {
    const auto y = widen(x).transpose(1, 2);  // [B, H, T, Dh]
    return repeats == 1 ? y : y.repeat_interleave(repeats, 1);
  };
  const auto future = at::ones({tokens, tokens}, q.options().dtype(at::kBool)).triu(1);
  const auto scores =
      heads_first(q, 1).matmul(heads_first(k, group).transpose(-2, -1)) * scale;  // [B, H, T, T]
  const auto weights =
      scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1);
  return weights.matmul(heads_first(v, group)).transpose(1, 2).to(q.scalar_type());
}

}  // namespace normbench::ops::reference
