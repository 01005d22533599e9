#pragma once

#include <optional>
#include <string>

#include "suite/base/files.h"

namespace normbench {

struct WorkerRun {
  std::string config, canary;  // JSON
  std::string name, runs_folder, cache_folder;
  double checkpoint_seconds = 30;
  bool keep_checkpoints = false;
};

/// Is there no such device? Then it says that `name` is skipped, or throws MachineError where
/// $NORMBENCH_REQUIRE asks for a GPU.
bool is_skipped(const std::string& device, const std::string& name);
/// Without a resource file CTest starts several GPU runs at once: on "cuda" they wait for each
/// other here.
std::optional<FileLock> wait_for_gpu(const std::string& device, const std::string& cache_folder);

/// Trains and prints one line of result. Exit code.
int worker_run(const WorkerRun& request);

}  // namespace normbench
