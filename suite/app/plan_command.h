#pragma once

#include <string>

#include "suite/app/project.h"

namespace normbench {

struct PlanCommand {
  std::string tier, only;
  bool list = false;
  std::string ctest_file;  // not empty: write the CTest script there and print nothing
};
int plan_command(const Project& project, const PlanCommand& request);

}  // namespace normbench
