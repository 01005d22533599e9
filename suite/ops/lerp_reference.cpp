#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y, const torch::Tensor& alpha,
                             LerpInputs inputs) {
  const auto a = inputs == LerpInputs::kNormalizeBoth ? l2_norm(widen(h)) : widen(h);
  const auto b = l2_norm(widen(y));
  return l2_norm(a + widen(alpha) * (b - a)).to(h.scalar_type());
}

torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y, const torch::Tensor& alpha,
                          bool normalize_branch, NuAlpha nu) {
  const auto wide = widen(h);
  const auto b = normalize_branch ? l2_norm(widen(y)) : widen(y);
  const auto a = widen(alpha);
  auto square = a.square() + (1 - a).square();
  if (nu == NuAlpha::kScalar) square = square.mean();
  return (square.rsqrt() * (wide + a * (b - wide))).to(h.scalar_type());
}

}  // namespace normbench::ops::reference
