#include "suite/ops/kernels.h"
#include "suite/ops/lerp_formula.h"

namespace normbench::ops::cpu {

void lerp_normalize(RowRange rows, const float* h, const float* y, const float* alpha,
                    bool normalize_h, float* out, LerpRoots* roots) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    roots[i] = lerp_normalize_row(Serial(), rows.n, h + at, y + at, alpha, normalize_h, out + at);
  }
}

void lerp_normalize_backward(RowRange rows, const float* h, const float* y, const float* alpha,
                             bool normalize_h, const LerpRoots* roots, const float* out,
                             const float* dout, float* dh, float* dy, float* dalpha) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    lerp_normalize_row_backward(Serial(), rows.n, h + at, y + at, alpha, normalize_h, roots[i],
                                out + at, dout + at, dh + at, dy + at, dalpha);
  }
}

void scaled_lerp(RowRange rows, const float* h, const float* y, const float* keep, const float* add,
                 bool normalize_branch, float* out, float* rb) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    rb[i] =
        scaled_lerp_row(Serial(), rows.n, h + at, y + at, keep, add, normalize_branch, out + at);
  }
}

void scaled_lerp_backward(RowRange rows, const float* h, const float* y, const float* keep,
                          const float* add, bool normalize_branch, const float* rb,
                          const float* dout, float* dh, float* dy, float* dkeep, float* dadd) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t at = i * rows.n;
    scaled_lerp_row_backward(Serial(), rows.n, h + at, y + at, keep, add, normalize_branch, rb[i],
                             dout + at, dh + at, dy + at, dkeep, dadd);
  }
}

}  // namespace normbench::ops::cpu
