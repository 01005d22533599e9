// The regression gate: does this build still measure what the committed baseline holds? Red means
// broken, and has nothing to do with whether a paper's claim holds. Baselines:
// baselines/measured/<tier>/<paper>.<table>.json, schema normbench-baseline-1, one entry per
// numeric class.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/input.h"
#include "suite/judge/outcome.h"

namespace normbench {

struct CheckResult {
  enum class Color { kGreen, kRed, kNotRun };
  Color color = Color::kRed;
  std::string text;  // what a person reads, several lines
  bool green() const { return color == Color::kGreen; }
};

/// Below a baselines folder: measured/<tier>/<paper>.<table>.json.
std::string baseline_path(const JudgeInput& input, const std::string& baselines_folder);
/// The command that writes it, and the one that trains what it is made of.
std::string bless_command(const JudgeInput& input);
std::string run_all_command(const JudgeInput& input);

/// The metrics of an arm or a measurement that have a regression check: "validation_loss" of an
/// arm, and "verdict" when a claim speaks for it.
std::vector<std::string> regression_metrics(const JudgeInput& input, const std::string& arm);
/// Number of groups of losses (arm, text, budget) of this table and tier: its part of the family
/// over which alpha is shared.
size_t regression_family(const JudgeInput& input);

/// validation_loss: same numeric class as an entry: loss bits and steps digest of every seed equal
/// the entry's. Other class: the mean loss of every group lies in the t prediction interval of an
/// entry's (gate_noise.h; Holm, `family` groups). verdict: none below the committed one, and none
/// that is OUT_OF_SCALE where what the runs alone say is. Red too: baseline absent, empty, of
/// another table, or of another configuration (run ids); a record absent, damaged or stale;
/// divergence.
CheckResult check_regression(const JudgeInput& input, const std::string& runs_folder,
                             const std::string& baseline_file, const std::string& arm,
                             const std::string& metric, size_t family);

}  // namespace normbench
