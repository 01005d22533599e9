// What a rule may look at: the planned runs with their records, and the tuning. Look-ups only, no
// statistics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/judge/loss_curve.h"
#include "suite/judge/record.h"
#include "suite/judge/sweep.h"

namespace normbench {

struct Evidence {
  const JudgeInput& input;
  std::vector<Record> runs;   // of input.runs, in order
  std::vector<Record> sweep;  // of input.sweep_runs
  Tuning tuning;

  /// Loads everything below `runs_folder`.
  static Evidence load(const JudgeInput& input, const std::string& runs_folder);

  /// What a baseline stands on: the runs, or the trials of a tier that only sweeps.
  const std::vector<Record>& basis() const { return runs.empty() ? sweep : runs; }

  /// The run of a measurement with this seed; its planned seeds, ascending.
  const Record* measurement(const std::string& name, int64_t seed) const;
  std::vector<int64_t> measurement_seeds(const std::string& name) const;

  const Record* find(const std::string& arm, const std::string& dataset, int64_t budget,
                     int64_t seed) const;
  /// Planned budgets of an arm, ascending; seeds planned for every one of them.
  std::vector<int64_t> budgets(const std::string& arm, const std::string& dataset) const;
  std::vector<int64_t> seeds(const std::string& arm, const std::string& dataset) const;
  /// Seeds planned for both; for all of several arms.
  std::vector<int64_t> pairs(const std::string& arm, const std::string& other,
                             const std::string& dataset) const;
  std::vector<int64_t> common_seeds(const std::vector<std::string>& arms,
                                    const std::string& dataset) const;
  /// Budgets planned for all of them, ascending.
  std::vector<int64_t> common_budgets(const std::vector<std::string>& arms,
                                      const std::string& dataset) const;
  /// Finished runs of one seed; of all seeds (mean loss a budget) without one.
  LossCurve curve(const std::string& arm, const std::string& dataset,
                  std::optional<int64_t> seed) const;
  /// 6 (parameters of its records - idle ones) + attention (JudgeInput::token_cost). Empty when
  /// there is no record.
  std::optional<double> flops_per_token(const std::string& arm, const std::string& dataset) const;
  const ArmInfo& arm(const std::string& name) const;
};

}  // namespace normbench
