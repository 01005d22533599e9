// One row (or column) w of a constrained weight, s = sum w^2.
//   unit:  w / sqrt(s), zero rows stay zero;   bound:  w / sqrt(s) if s > 1, else nothing is
//   written
#pragma once

#include "suite/ops/row_group.h"

namespace normbench::ops {

/// The divisor of the row; 1 means: leave every bit as it is.
NORMBENCH_HD inline float constraint_divisor(float square, bool bound) {
  if (square == 0 || (bound && square <= 1)) return 1.0f;
  return sqrtf(square);
}

template <class Group>
NORMBENCH_HD void constrain_row(Group group, int64_t n, float* w, bool bound) {
  const float divisor =
      constraint_divisor(group.sum(n, [=](int64_t i) { return w[i] * w[i]; }), bound);
  if (divisor != 1.0f) group.each(n, [=](int64_t i) { w[i] /= divisor; });
}

}  // namespace normbench::ops
