// s = 1 / (1 + exp(-z)),  y = u z s,  dz = dy u s (1 + z (1 - s)),  du = dy z s; element by
// element.
#pragma once

#include "suite/ops/math_formula.h"

namespace normbench::ops {

NORMBENCH_HD inline float sigmoid_formula(float z) { return 1.0f / (1.0f + exp_formula(-z)); }

NORMBENCH_HD inline float swiglu_y(float z, float u) { return u * (z * sigmoid_formula(z)); }

NORMBENCH_HD inline void swiglu_backward(float z, float u, float dy, float& dz, float& du) {
  const float s = sigmoid_formula(z);
  dz = dy * u * (s * (1.0f + z * (1.0f - s)));
  du = dy * (z * s);
}

}  // namespace normbench::ops
