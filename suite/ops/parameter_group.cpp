#include "suite/ops/parameter_group.h"

#include "suite/ops/blocks.h"

namespace normbench {

void constrain_(const ParameterGroup& group) {
  if (group.constraint == RowConstraint::kNone) return;
  const at::NoGradGuard no_grad;
  auto w = group.tensor;
  TORCH_CHECK(w.dim() == 2 && (group.axis == 0 || group.axis == 1), "constrain_: ", group.name,
              " is ", w.sizes(), ", axis ", group.axis, "; expected a matrix and axis 0 or 1");
  if (ops::kernel_takes({w}) && w.is_contiguous()) {
    const auto scratch = at::empty({w.size(1)}, w.options());
    ops::cpu::constrain({0, w.size(0), w.size(1)}, ops::data(w),
                        group.constraint == RowConstraint::kBound,
                        /*columns=*/group.axis == 0, ops::data(scratch));
    return;
  }
  auto norm = w.square().sum(group.axis, /*keepdim=*/true).sqrt_();
  // Division by exactly 1 changes no bit: rows inside the ball, and rows of zeros, come out as they
  // went in.
  if (group.constraint == RowConstraint::kUnit) norm.masked_fill_(norm == 0, 1.0);
  if (group.constraint == RowConstraint::kBound) norm.clamp_min_(1.0);
  w.div_(norm);
}

}  // namespace normbench
