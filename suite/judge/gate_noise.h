// How far the losses of another numeric class may lie from the committed ones. For a group g (one
// arm, text and budget) with the same n_g seeds now and in the baseline's entry:
//   D_g    = mean over the seeds of (loss now - committed loss of the same seed)
//   s_p^2  = sum_g (n_g - 1) s_g^2 / nu,   nu = sum_g (n_g - 1)       all groups of the entry,
//   which
//                                                                    is of one table and one tier
//   green:   |D_g| <= t(1 - alpha'/2, nu) sqrt(1/n_g + 1/n_g) max(s_p, s_g)
// alpha' by Holm over all groups of the tier. That is the prediction interval for the mean of n_g
// fresh seeds given n_g old ones, if all groups have the noise s_p: with the few seeds of one
// group, s_g alone has one degree of freedom at n_g = 2, and the interval would hold everything. A
// group that shows more noise than the pool keeps its own. The error is at most alpha where groups
// are alike: equal seeds share weights and data, so another class moves a loss by less than another
// seed would (baselines/measured/smoke/angpt.convergence holds two classes; a test compares them).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/input.h"

namespace normbench {

struct PooledNoise {
  double s = 0;
  int df = 0;  // nu
};
/// Of an entry of a baseline. Empty when no group has two losses.
std::optional<PooledNoise> pooled_noise(const Json& entry);

/// The losses of a group of a baseline that did not diverge.
std::vector<double> committed_losses(const Json& group_values);

/// One group, now against the baseline.
struct Drift {
  PooledNoise noise;
  double committed_s = 0;           // s_g; 0 for n_g = 1
  std::vector<double> differences;  // loss now - committed loss, one a seed

  /// The alpha at which D_g would sit exactly on the edge.
  double p() const;
  /// The largest |D_g| that is green at this alpha.
  double limit(double alpha) const;
};

/// "angpt, gcide_1k, 524288".
std::string group_name(const RunRef& run);

/// The groups whose class has no entry, each against the entry that speaks for it.
class Drifts {
 public:
  /// Takes one run of a group. Returns why it cannot be compared, or nothing.
  std::string add(const RunRef& run, double difference, const Json& group_values,
                  const std::string& entry_name, const Json& entry);
  size_t num_groups() const { return drifts_.size(); }
  /// The groups outside of their interval, by Holm over `family` groups.
  std::vector<std::string> faults(double alpha, size_t family) const;

 private:
  std::map<std::pair<std::string, std::string>, Drift> drifts_;  // [group, entry]
};

}  // namespace normbench
