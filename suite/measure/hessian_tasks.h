// The Hessian experiments on arXiv 2602.01212 (SimpleGPT), one file each.
#pragma once

#include "suite/measure/measure.h"

namespace normbench {

MeasureEntry hessian_dominance();
MeasureEntry hessian_identities();
MeasureEntry hessian_network();
MeasureEntry hessian_scaling();
MeasureEntry hessian_spike();

}  // namespace normbench
