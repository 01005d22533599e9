// Does an old record still speak for this build? The numeric digest of an arm is the hash of the
// loss bits of 20 steps of it at micro size: a refactoring that keeps every bit keeps every result,
// a change of one bit invalidates the arms it touched.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// Runs the canary of a canary configuration (suite/plan/expand.h, canary_config) on tokens from
/// the counter-based generator. Returns 32 hexadecimal digits.
std::string run_canary(const Json& canary_config);

/// The same, remembered in <cache_folder>/<hash of the canary configuration>.json for as long as
/// `build_id` (hash of the program) and the machine's numeric class stay what they are.
std::string cached_canary(const Json& canary_config, const std::string& cache_folder,
                          const std::string& build_id, const std::string& numeric_class);

/// Seconds of each of `steps` training steps of any configuration on generated tokens, after three
/// that are not counted.
std::vector<double> time_steps(const Json& config, int64_t steps);

}  // namespace normbench
