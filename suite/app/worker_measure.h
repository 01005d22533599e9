#pragma once

#include "suite/app/worker_run.h"
#include "suite/base/canary_result.h"

namespace normbench {

/// Carries out a measurement (a configuration with "task") and prints one line of result. Exit
/// code.
int worker_measure(const WorkerRun& request);

/// What a measurement computes with its canary's options, times left out. The numeric class is left
/// to the caller.
CanaryResult measurement_canary(const Json& config);

}  // namespace normbench
