#include "suite/ops/kernels.h"
#include "suite/ops/row_constraint_formula.h"

namespace normbench::ops::cpu {

void constrain(RowRange rows, float* w, bool bound, bool columns, float* scratch) {
  if (!columns) {
    for (int64_t i = rows.begin; i < rows.end; ++i)
      constrain_row(Serial(), rows.n, w + i * rows.n, bound);
    return;
  }
  // Columns: sums of squares over the rows in order, then one division an entry; dividing by 1
  // changes no bit.
  const Serial group;
  group.each(rows.n, [=](int64_t j) { scratch[j] = 0; });
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const float* row = w + i * rows.n;
    group.each(rows.n, [=](int64_t j) { scratch[j] += row[j] * row[j]; });
  }
  group.each(rows.n, [=](int64_t j) { scratch[j] = constraint_divisor(scratch[j], bound); });
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    float* row = w + i * rows.n;
    group.each(rows.n, [=](int64_t j) { row[j] /= scratch[j]; });
  }
}

}  // namespace normbench::ops::cpu
