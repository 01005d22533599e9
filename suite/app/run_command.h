#pragma once

#include <string>
#include <vector>

#include "suite/app/project.h"

namespace normbench {

/// Replaces this process by the worker (so that signals reach it). Throws UserError when the worker
/// was not built.
int call_worker(const Project& project, const std::vector<std::string>& arguments);

/// The same in a process of its own. Its exit code; 128 and more: ended by a signal.
int run_worker(const Project& project, const std::vector<std::string>& arguments);

struct RunCommand {
  std::string name;
  double checkpoint_seconds = 30;
  bool keep_checkpoints = false;
};
int run_command(const Project& project, const RunCommand& request);

struct ThroughputCommand {
  std::string name;
  int64_t steps = 20;
};
int throughput_command(const Project& project, const ThroughputCommand& request);

}  // namespace normbench
