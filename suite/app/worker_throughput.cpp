#include "suite/app/worker_throughput.h"

#include <algorithm>
#include <iostream>

#include "suite/train/canary.h"

namespace normbench {

int worker_throughput(const WorkerThroughput& request) {
  const Json config = parse_json(request.config, "--config");
  const std::vector<double> seconds = time_steps(config, request.steps);
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const double tokens =
      config.at("batch_sequences").get<double>() * config.at("size").at("context").get<double>();
  std::cout << Json({{"tokens_per_second", tokens / sorted[sorted.size() / 2]},
                     {"step_seconds", seconds}})
                   .dump()
            << "\n";
  return 0;
}

}  // namespace normbench
