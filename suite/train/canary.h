// Does an old record still speak for this build? The numeric digest of an arm is the hash of the
// loss bits of 20 steps of it at micro size: a refactoring that keeps every bit keeps every result,
// a change of one bit invalidates the arms it touched.
#pragma once

#include <string>
#include <vector>

#include "suite/base/canary_result.h"
#include "suite/base/json.h"

namespace normbench {

/// Runs the canary of a canary configuration (suite/plan/expand.h, canary_config) on tokens from
/// the counter-based generator. The numeric class is left to the caller. Throws Interrupted between
/// two steps, as time_steps() does.
CanaryResult run_canary(const Json& canary_config);

/// What `run` (run_canary, or a measurement's) returns, remembered in <cache_folder>/<hash of the
/// canary configuration>.json for as long as `build_id` (hash of the program) and the machine's
/// numeric class stay what they are.
CanaryResult cached_canary(const Json& canary_config, CanaryResult (*run)(const Json&),
                           const std::string& cache_folder, const std::string& build_id,
                           const std::string& numeric_class);

/// Seconds of each of `steps` training steps of any configuration on generated tokens, after three
/// that are not counted.
std::vector<double> time_steps(const Json& config, int64_t steps);

}  // namespace normbench
