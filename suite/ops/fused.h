// Which line computes an operator: the fused kernel where one exists, or the plain reference
// everywhere.
#pragma once

namespace normbench::ops {

/// false: every operator takes its reference (reference.h), which is differentiable twice. For A/B
/// timing, curvature experiments and the search for a wrong kernel. Process-wide; default true. Set
/// it before a run, not during one.
void set_fused(bool on);
bool fused();

}  // namespace normbench::ops
