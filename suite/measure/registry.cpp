// Every measuring task, one line each, sorted by name.
#include "suite/measure/fold_inference.h"
#include "suite/measure/measure.h"
#include "suite/measure/nu_error.h"

namespace normbench {

const std::vector<MeasureEntry>& measure_registry() {
  static const std::vector<MeasureEntry> entries = {
      measure_entry<FoldInferenceOptions, fold_inference>(
          "fold_inference", "arXiv 2505.22014 v2, section 4.2: constants folded into weights",
          {.num_layers = 1,
           .width = 16,
           .mlp_width = 32,
           .context = 8,
           .vocabulary = 32,
           .rounds = 1}),
      measure_entry<NuErrorOptions, nu_error>(
          "nu_error", "arXiv 2505.22014 v2, Table N.2: by how much each nu misses",
          {.width = 32, .head_width = 16, .mlp_width = 64, .matrices = 1, .inputs = 4}),
  };
  return entries;
}

}  // namespace normbench
