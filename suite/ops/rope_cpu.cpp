#include "suite/ops/kernels.h"
#include "suite/ops/rope_formula.h"

namespace normbench::ops::cpu {
namespace {

// Calls f(row, row of the table, head) for the rows of a range.
template <class F>
void each_head(RowRange rows, const RopeArrays& arrays, F f) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    f(i, (i / arrays.heads) % arrays.tokens * arrays.shape.half, i % arrays.heads);
  }
}

}  // namespace

void rope(RowRange rows, const RopeArrays& arrays, bool transposed, const float* x, float* y) {
  each_head(rows, arrays, [&](int64_t i, int64_t angle, int64_t) {
    rope_row(Serial(), arrays.shape, transposed, x + i * rows.n, arrays.cosine + angle,
             arrays.sine + angle, y + i * rows.n);
  });
}

void rope_l2_norm(RowRange rows, const RopeArrays& arrays, const float* x, float* y, float* r) {
  each_head(rows, arrays, [&](int64_t i, int64_t angle, int64_t head) {
    r[i] = rope_l2_norm_row(Serial(), arrays.shape, x + i * rows.n, arrays.cosine + angle,
                            arrays.sine + angle,
                            arrays.gain ? arrays.gain + head * rows.n : nullptr, y + i * rows.n);
  });
}

void rope_l2_norm_backward(RowRange rows, const RopeArrays& arrays, const float* x, const float* r,
                           const float* dy, float* dx, float* dgain, float* scratch) {
  each_head(rows, arrays, [&](int64_t i, int64_t angle, int64_t head) {
    const int64_t at = i * rows.n, gain_at = head * rows.n;
    rope_l2_norm_row_backward(Serial(), arrays.shape, x + at, arrays.cosine + angle,
                              arrays.sine + angle, arrays.gain ? arrays.gain + gain_at : nullptr,
                              r[i], dy + at, dx + at, arrays.gain ? dgain + gain_at : nullptr,
                              scratch);
  });
}

}  // namespace normbench::ops::cpu
