#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps) {
  const auto wide = widen(x);
  const auto r = (wide.square().mean(-1, /*keepdim=*/true) + eps).rsqrt();
  return (wide * r * widen(gain)).to(x.scalar_type());
}

torch::Tensor l2_norm(const torch::Tensor& x) {
  const auto wide = widen(x);
  const auto square = wide.square().sum(-1, /*keepdim=*/true);
  const auto zero = square == 0;
  // 1/||x||, and 0 for a row of zeros. The inner fill keeps the unused branch finite: 0 * inf would
  // be a NaN gradient.
  const auto r = square.masked_fill(zero, 1.0).rsqrt().masked_fill(zero, 0.0);
  return (wide * r).to(x.scalar_type());
}

}  // namespace normbench::ops::reference
