// The linear warm-up that every schedule starts with: lr(t) = peak t / W for t < W. Torch-free.
#pragma once

#include <cstdint>

#include "suite/base/options.h"

namespace normbench {

/// W of `steps`, from warmup_fraction (part of all steps, rounded to the nearest one) or
/// warmup_steps, of which one is 0. Throws UserError, located in `object`, when both are given or
/// W does not leave a step after it.
int64_t warmup_of(int64_t steps, double warmup_fraction, int64_t warmup_steps,
                  const JsonObject& object);

/// Throws UserError unless the run has a step.
void require_a_step(int64_t steps, const JsonObject& object);

}  // namespace normbench
