// How one row is walked. A row formula is written once over a group and compiled for each device:
// Serial is one CPU thread with vector lanes; a GPU's group spreads the row over the lanes of a
// warp. What is summed stands in the formula, how it is summed is the group's own. No torch.
#pragma once

#include <cmath>
#include <cstdint>

#include "suite/ops/kernel_types.h"

namespace normbench::ops {

struct Serial {
  template <class F>
  NORMBENCH_HD void each(int64_t n, F f) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  NORMBENCH_HD float sum(int64_t n, F f) const {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) total += f(i);
    return total;
  }
  template <class F>
  NORMBENCH_HD float max(int64_t n, F f) const {
    float best = -INFINITY;
#pragma omp simd reduction(max : best)
    for (int64_t i = 0; i < n; ++i) best = f(i) > best ? f(i) : best;
    return best;
  }
  /// What one lane does for the whole row.
  template <class F>
  NORMBENCH_HD void once(F f) const {
    f();
  }
};

/// 1 / ||x|| from the sum of squares; 0 for a row of zeros, so that its value and gradient are zero
/// and never NaN. In fp32 a row counts as zeros when its squares underflow, below about 1e-22 an
/// entry.
NORMBENCH_HD inline float inverse_root(float square) {
  return square == 0 ? 0.0f : 1.0f / sqrtf(square);
}

}  // namespace normbench::ops
