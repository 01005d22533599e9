#include "suite/ops/kernels.h"
#include "suite/ops/norm_formula.h"

namespace normbench::ops::cpu {

void rms_norm(RowRange rows, const float* x, const float* gain, float eps, float* y, float* r) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    r[i] = rms_norm_row(Serial(), rows.n, x + i * rows.n, gain, eps, y + i * rows.n);
  }
}

void rms_norm_backward(RowRange rows, const float* x, const float* gain, const float* r,
                       const float* dy, float* dx, float* dgain) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    rms_norm_row_backward(Serial(), rows.n, x + at, gain, r[i], dy + at, dx + at, dgain);
  }
}

void l2_norm(RowRange rows, const float* x, float* y, float* r) {
  for (int64_t i = rows.begin; i < rows.end; ++i)
    r[i] = l2_norm_row(Serial(), rows.n, x + i * rows.n, y + i * rows.n);
}

void l2_norm_backward(RowRange rows, const float* x, const float* r, const float* dy, float* dx) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    l2_norm_row_backward(Serial(), rows.n, x + at, r[i], dy + at, dx + at);
  }
}

}  // namespace normbench::ops::cpu
