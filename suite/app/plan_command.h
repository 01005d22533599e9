#pragma once

#include <string>

#include "suite/app/project.h"

namespace normbench {

struct PlanCommand {
  std::string tier, only;
  bool list = false;
  /// Not empty: have the worker build every arm's model (worker_arms.h), write the CTest script
  /// there and print nothing.
  std::string ctest_file;
};
int plan_command(const Project& project, const PlanCommand& request);

}  // namespace normbench
