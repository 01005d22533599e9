#pragma once

#include <string>

namespace normbench {

struct WorkerRun {
  std::string config, canary;  // JSON
  std::string name, runs_folder, cache_folder;
  double checkpoint_seconds = 30;
  bool keep_checkpoints = false;
};

/// Trains and prints one line of result. Exit code.
int worker_run(const WorkerRun& request);

}  // namespace normbench
