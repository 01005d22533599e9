#include "suite/ops/parameter_group.h"

#include <ATen/ATen.h>

namespace normbench {

void constrain_(const ParameterGroup& group) {
  if (group.constraint == RowConstraint::kNone) return;
  const at::NoGradGuard no_grad;
  auto w = group.tensor;
  TORCH_CHECK(w.dim() == 2 && (group.axis == 0 || group.axis == 1), "constrain_: ", group.name, " is ", w.sizes(),
              ", axis ", group.axis, "; expected a matrix and axis 0 or 1");
  auto norm = w.square().sum(group.axis, /*keepdim=*/true).sqrt_();
  // Division by exactly 1 changes no bit: rows inside the ball, and rows of zeros, come out as they went in.
  if (group.constraint == RowConstraint::kUnit) norm.masked_fill_(norm == 0, 1.0);
  if (group.constraint == RowConstraint::kBound) norm.clamp_min_(1.0);
  w.div_(norm);
}

}  // namespace normbench
