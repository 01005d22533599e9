// How long a run takes, before it is started: from finished runs of the same shape (published ones
// that were taken over come from other machines), else from its FLOPs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "suite/plan/expand.h"

namespace normbench {

/// Multiply-adds x 2 of training on one token: 6 x (16 D^2 L (with F = 4 D) + V D) + attention's 6
/// L T D.
double training_flops_per_token(const Json& config);

class Estimate {
 public:
  /// Reads the summaries below `runs_folder` (results/runs).
  explicit Estimate(const std::string& runs_folder);
  /// Seconds on one device with one thread. `*measured` says whether finished runs told.
  double seconds(const PlannedRun& run, bool* measured = nullptr) const;
  /// The same from its newest checkpoint on.
  double seconds_left(const PlannedRun& run, bool* measured = nullptr) const;
  /// Is there a finished or diverged record for this run id?
  bool finished(const std::string& run_id) const;
  /// Is there a checkpoint from which the run would go on?
  bool begun(const std::string& run_id) const { return begun_.contains(run_id); }

 private:
  struct Seen {
    std::string shape;
    double speed;  // tokens a second; of a measurement its seconds
  };
  std::vector<Seen> seen_;
  std::vector<std::string> finished_;
  std::map<std::string, int64_t> begun_;  // [run id]: step of the newest checkpoint
};

}  // namespace normbench
