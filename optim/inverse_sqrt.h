// Inverse square root: Vaswani et al., arXiv 1706.03762, section 5.3, in the form of Megatron-LM,
// with the peak at the end of the warm-up and a floor. Torch-free.
//   lr(t) = max(final_fraction peak, peak sqrt(max(W, 1) / t)) for t >= W
// Unlike the other schedules the floor is a maximum, not an offset, and the last rate depends on
// the length of the run.
#pragma once

#include "optim/schedule.h"

namespace normbench {

struct InverseSqrtOptions {
  double warmup_fraction = 0;  // part of all steps, rounded to the nearest step
  int64_t warmup_steps = 0;    // the same as a count; give one of the two
  double final_fraction = 0;   // the floor as a part of the peak

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("warmup_fraction", warmup_fraction, share_below_one());
    v.number("warmup_steps", warmup_steps, at_least(0));
    v.number("final_fraction", final_fraction, between(0, 1));
  }
};

/// Integral over the part after the warm-up share w: of max(f, sqrt(a / x)) for x in [w, 1],
/// divided by 1 - w. a = max(W, 1) / steps.
///   f^2 <= a:  2 sqrt(a) (1 - sqrt(w)) / (1 - w)
///   else, with x* = a / f^2:  (2 sqrt(a) (sqrt(x*) - sqrt(w)) + f (1 - x*)) / (1 - w)
double inverse_sqrt_area(double a, double warmup_share, double final_fraction);

Schedule make_inverse_sqrt(int64_t steps, double peak_lr, const JsonObject& options);
ScheduleShape inverse_sqrt_shape(int64_t steps, const JsonObject& options);

}  // namespace normbench
