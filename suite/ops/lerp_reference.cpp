#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y,
                             const torch::Tensor& alpha, LerpInputs inputs) {
  const auto a = inputs == LerpInputs::kNormalizeBoth ? l2_norm(widen(h)) : widen(h);
  const auto b = l2_norm(widen(y));
  return l2_norm(a + widen(alpha) * (b - a)).to(h.scalar_type());
}

torch::Tensor nu_alpha(const torch::Tensor& alpha, NuAlpha nu) {
  const auto square = alpha.square() + (1 - alpha).square();
  return (nu == NuAlpha::kScalar ? square.mean() : square).rsqrt();
}

torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y,
                          const torch::Tensor& alpha, bool normalize_branch, NuAlpha nu) {
  const auto wide = widen(h), a = widen(alpha);
  const auto b = normalize_branch ? l2_norm(widen(y)) : widen(y);
  return (nu_alpha(a, nu) * (wide + a * (b - wide))).to(h.scalar_type());
}

}  // namespace normbench::ops::reference
