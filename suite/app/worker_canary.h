#pragma once

#include <string>
#include <vector>

namespace normbench {

struct WorkerCanary {
  std::vector<std::string> canaries;  // configurations, as JSON
  std::string cache_folder;
};

/// Runs the canaries that are not remembered for this build on this machine, and remembers them:
/// seconds an arm, so that a check can say whether records are of this build. Prints nothing. Exit
/// code.
int worker_canary(const WorkerCanary& request);

}  // namespace normbench
