// Row formulas of the two norms. n entries; r is kept for the backward pass.
//   RMS:  r = (sum x^2 / n + eps)^(-1/2),  y = r x g
//     dx = r (dy g - x r^2 sum(dy g x) / n),  dg = sum over rows of dy r x
//   L2:  r = (sum x^2)^(-1/2),  y = r x,  dx = r (dy - y sum(dy y))
#pragma once

#include "suite/ops/row_group.h"

namespace normbench::ops {

template <class Group>
NORMBENCH_HD float rms_norm_row(Group group, int64_t n, const float* x, const float* gain,
                                float eps, float* y) {
  const float square = group.sum(n, [=](int64_t i) { return x[i] * x[i]; });
  const float r = 1.0f / sqrtf(square / static_cast<float>(n) + eps);
  group.each(n, [=](int64_t i) { y[i] = r * x[i] * gain[i]; });
  return r;
}

/// Adds this row's share to dgain.
template <class Group>
NORMBENCH_HD void rms_norm_row_backward(Group group, int64_t n, const float* x, const float* gain,
                                        float r, const float* dy, float* dx, float* dgain) {
  const float along = group.sum(n, [=](int64_t i) { return dy[i] * gain[i] * x[i]; });
  const float pull = r * r * along / static_cast<float>(n);
  group.each(n, [=](int64_t i) {
    dgain[i] += dy[i] * (r * x[i]);
    dx[i] = r * (dy[i] * gain[i] - x[i] * pull);
  });
}

template <class Group>
NORMBENCH_HD float l2_norm_row(Group group, int64_t n, const float* x, float* y) {
  const float r = inverse_root(group.sum(n, [=](int64_t i) { return x[i] * x[i]; }));
  group.each(n, [=](int64_t i) { y[i] = r * x[i]; });
  return r;
}

template <class Group>
NORMBENCH_HD void l2_norm_row_backward(Group group, int64_t n, const float* x, float r,
                                       const float* dy, float* dx) {
  const float along = r * r * group.sum(n, [=](int64_t i) { return dy[i] * x[i]; });
  group.each(n, [=](int64_t i) { dx[i] = r * (dy[i] - x[i] * along); });
}

}  // namespace normbench::ops
