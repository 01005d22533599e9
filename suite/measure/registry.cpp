// Every measurement task, one line each, sorted by name.
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/measure.h"

namespace normbench {

const std::vector<MeasureEntry>& measure_registry() {
  static const std::vector<MeasureEntry> entries = {
      hessian_dominance(), hessian_identities(), hessian_network(),
      hessian_scaling(),   hessian_spike(),
  };
  return entries;
}

}  // namespace normbench
