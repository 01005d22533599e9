#include "suite/ops/kernels.h"
#include "suite/ops/swiglu_formula.h"

namespace normbench::ops::cpu {

void swiglu(RowRange rows, const float* gate, const float* up, float* y) {
  const int64_t begin = rows.begin * rows.n, end = rows.end * rows.n;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) y[i] = swiglu_y(gate[i], up[i]);
}

void swiglu_backward(RowRange rows, const float* gate, const float* up, const float* dy,
                     float* dgate, float* dup) {
  const int64_t begin = rows.begin * rows.n, end = rows.end * rows.n;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    ops::swiglu_backward(gate[i], up[i], dy[i], dgate[i], dup[i]);
}

}  // namespace normbench::ops::cpu
