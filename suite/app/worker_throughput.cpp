#include "suite/app/worker_throughput.h"

#include <iostream>

#include "suite/base/median.h"
#include "suite/train/canary.h"

namespace normbench {

int worker_throughput(const WorkerThroughput& request) {
  const Json config = parse_json(request.config, "--config");
  const std::vector<double> seconds = time_steps(config, request.steps);
  const double tokens =
      config.at("batch_sequences").get<double>() * config.at("size").at("context").get<double>();
  std::cout
      << Json({{"tokens_per_second", tokens / median(seconds)}, {"step_seconds", seconds}}).dump()
      << "\n";
  return 0;
}

}  // namespace normbench
