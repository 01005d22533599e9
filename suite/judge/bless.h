// Writes what this machine measured as the committed baseline of its numeric class.
#pragma once

#include <set>
#include <string>

#include "suite/judge/input.h"

namespace normbench {

struct BlessOptions {
  std::string reason;                 // why the numbers may change; required
  std::string commit, date;           // of the build
  std::set<std::string> may_diverge;  // arms whose divergence is the expected result
};

/// Writes the entry of the records' numeric class, keeps the others; also that one, with its
/// reason, where no value and no verdict is new. An entry of several classes (never at the smoke
/// tier) bears all their names, "a + b": to a machine of one of them it is an entry of another
/// class. Throws UserError when the reason is empty, or a planned run, or a trial of arms that a
/// claim compares at their best rates, is absent, damaged or stale, or a run diverged unexpectedly.
/// Returns what changed, for a person.
std::string bless(const JudgeInput& input, const std::string& runs_folder,
                  const std::string& baseline_file, const BlessOptions& options);

}  // namespace normbench
