// Every measurement task, one line each, sorted by name.
#include "suite/measure/fold_inference.h"
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/measure.h"
#include "suite/measure/nu_error.h"

namespace normbench {

const std::vector<MeasureEntry>& measure_registry() {
  static const std::vector<MeasureEntry> entries = {
      fold_inference(),  hessian_dominance(), hessian_identities(), hessian_network(),
      hessian_scaling(), hessian_spike(),     nu_error(),
  };
  return entries;
}

}  // namespace normbench
