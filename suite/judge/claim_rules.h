// The list of rules: what each needs from the table file, and which records it reads. Inside judge
// only.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/claim.h"

namespace normbench {

enum class Reads {
  kRuns,         // of the claim's arms, in the setting that is judged
  kSweep,        // their learning-rate trials there
  kAllSettings,  // of the claim's arms, in all its settings at once
  kAllSweeps,    // their learning-rate trials in all its settings at once
  kMeasurement,
  kNothing,  // published numbers alone
};

struct Rule {
  const char* name;
  /// Reads the keys that only this rule has.
  void (*read)(Claim&, const JsonObject&, const JudgeInput&);
  Verdict (*judge)(const Claim&, const Evidence&, const std::string& dataset);
  Reads reads;         // when the claim has no measurement and no published points
  bool tuned = false;  // compares arms at their best rates: an untuned one makes it worthless
  bool p_of_no_effect = false;  // its p speaks of either direction, so of a NOT_REPRODUCED as well
  bool of_seconds = false;      // compares times, which another day has otherwise
};

/// Sorted by name. Throws UserError in find_rule() when there is none of that name.
const std::vector<Rule>& rules();
const Rule& find_rule(const std::string& name);
Reads reads_of(const Claim& claim);

// One each; their formulas stand at the head of rule_<name>.cpp.
Verdict rule_below_unigram(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_crossing(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_divergence_expected(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_exact_identity(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_fitted_exponent(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_gap_growth(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_loss_difference(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_lr_tolerance(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_non_inferiority(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_ordering(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_rate_exponent(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_scaling_fit(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_speed_up(const Claim&, const Evidence&, const std::string& dataset);
Verdict rule_time_ratio(const Claim&, const Evidence&, const std::string& dataset);

}  // namespace normbench
