#include "suite/ops/cross_entropy_formula.h"
#include "suite/ops/kernels.h"

namespace normbench::ops::cpu {

double cross_entropy(RowRange rows, float* u, const float* scale, const int64_t* targets,
                     float weight, bool gradient, float* dscale, float* scratch) {
  double loss = 0;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    loss += cross_entropy_row(Serial(), rows.n, u + i * rows.n, scale, targets[i], weight, gradient,
                              dscale, scratch);
  }
  return loss;
}

}  // namespace normbench::ops::cpu
