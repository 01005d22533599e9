// The canaries of this build on this machine: whether a record still speaks for it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "suite/app/project.h"

namespace normbench {

/// By id (canary_id) those that were run; one that was not, or whose file is damaged, is unknown.
std::map<std::string, CanaryResult> known_canaries(const Project& project,
                                                   const PlannedTier& planned);

/// Names the canary of a run: the hash of its configuration.
std::string canary_id(const PlannedRun& run);

/// Has the worker run those of the `wanted` runs that this build has not run, seconds an arm: after
/// a rebuild nobody knows whether the records are of this build. Those of a GPU stay unknown where
/// there is none. Throws UserError when the worker was not built or cannot run one, MachineError or
/// Interrupted when that is how the worker ended.
void run_missing_canaries(const Project& project, const PlannedTier& planned,
                          const std::function<bool(const PlannedRun&)>& wanted);

}  // namespace normbench
