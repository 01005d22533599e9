// The CTest tests of planned runs and their checks, as a script that CTest includes
// (TEST_INCLUDE_FILES).
#pragma once

#include <string>
#include <vector>

#include "suite/plan/estimate.h"
#include "suite/plan/expand.h"

namespace normbench {

/// One tier of one table with its runs.
struct PlannedTier {
  const Table* table = nullptr;
  const Tier* tier = nullptr;
  std::vector<PlannedRun> runs;
};

/// A run that several tables ask for is one test under the first table's name, with the labels of
/// all. FIXTURES (never DEPENDS, which passes on stale files) tie data to runs and runs to checks.
std::string ctest_script(const std::vector<PlannedTier>& tiers, const Estimate& estimate,
                         const std::string& program, const std::string& root);

}  // namespace normbench
