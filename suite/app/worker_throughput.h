#pragma once

#include <cstdint>
#include <string>

namespace normbench {

struct WorkerThroughput {
  std::string config;  // JSON
  int64_t steps = 20;
};

/// Times whole training steps (forward, backward, clip, update, constraint) on generated tokens and
/// prints
/// {"tokens_per_second": median, "step_seconds": [...]}. Exit code.
int worker_throughput(const WorkerThroughput& request);

}  // namespace normbench
