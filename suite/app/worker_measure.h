#pragma once

#include "suite/app/worker_run.h"

namespace normbench {

/// Carries out a measurement (a configuration with "task") and prints one line of result. Exit
/// code.
int worker_measure(const WorkerRun& request);

}  // namespace normbench
