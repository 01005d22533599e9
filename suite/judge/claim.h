// A table's claims, read strictly, and the rules that decide them. A rule is one file
// rule_<name>.cpp and one line in claim_rules.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/judge/evidence.h"
#include "suite/judge/outcome.h"

namespace normbench {

struct Claim {
  std::string id, statement, conditions, rule;
  std::string challenger, reference;  // the arm that it speaks for, and the other; may be empty
  std::vector<std::string> arms;      // all whose runs decide; rule ordering: worst first
  std::string measurement;            // in place of arms: rules that read what a measurement wrote
  std::string
      out_of_scale;  // why this tier is too small for the paper's own claim; empty: it is not
  std::string fixed_rates;  // why its rates are what they are without a sweep; empty: tuned ones
  std::optional<double> margin_nats;         // non_inferiority
  std::optional<double> loss_above;          // divergence_expected: as bad as diverged
  std::optional<double> stable_within_nats;  // lr_tolerance: of the arm's best loss
  std::optional<double> tolerance;           // in the unit of what is compared
  std::optional<double> value;               // rules with a published number
  std::string unit;                          // of `value`: "ratio", "nats", "percent", "exponent"
  Json published;  // the whole published entry: value, unit, how, where, uncertainty, note
  std::string of;  // gap_growth: "validation", "train"; rate_exponent: "tokens", "width"
  std::string measured_value, over;   // names of a measurement's values; time_ratio: value / over
  std::string x, y;                   // fitted_exponent: columns of a measurement's rows
  Json where = Json::object();        // fitted_exponent: {column: value} of the rows that are used
  std::string law;                    // scaling_fit: what is a power of what
  Json points;                        // scaling_fit: published points in place of runs; or null
  std::vector<std::string> settings;  // whose runs are read: the claim's own list, else the tier's
  std::vector<std::string>
      datasets;  // one verdict for each: the settings, or one name where all are judged at once
  /// What the claim speaks for: the challenger, or the measurement.
  const std::string& subject() const { return challenger.empty() ? measurement : challenger; }
};

/// The claims that this tier judges. Throws UserError: unknown key, rule, arm or measurement (with
/// the nearest known), an arm that is a warning row, no such published number, a rule without its
/// margin or tolerance.
std::vector<Claim> read_claims(const JudgeInput& input);

/// Applies the claim's rule on one dataset.
Verdict judge_claim(const Claim& claim, const Evidence& evidence, const std::string& dataset);

/// The records that the claim's verdict on a dataset rests on; a verdict is NOT_RUN while one of
/// them cannot be used.
std::vector<const Record*> records_of(const Claim& claim, const Evidence& evidence,
                                      const std::string& dataset);
/// Learning-rate trials without which a verdict about tuned arms says nothing; none of other rules.
std::vector<const Record*> trials_of(const Claim& claim, const Evidence& evidence,
                                     const std::string& dataset);
/// Whether a baseline keeps what the runs alone say beside an OUT_OF_SCALE, which no run can turn:
/// not of a rule about seconds, where the machine's day decides.
bool keeps_runs_alone(const Claim& claim, const Verdict& verdict);

// What every rule begins and ends with (claim.cpp).

/// Everything but the measurement: names, paper's number, planned pairs, missing and diverged runs,
/// trials.
Verdict begin_verdict(const Claim& claim, const Evidence& evidence, const std::string& dataset);
/// " 3 runs diverged.", or nothing: how a sentence about losses ends.
std::string diverged_text(const Verdict& verdict);
/// Sets outcome and reason. What the statistics say stands unless, in this order: runs are missing
/// (NOT_RUN), the paper limits the claim (OUT_OF_SCALE), the rule found the machine unfit for its
/// times (MACHINE_UNFIT), an arm is untuned and the rule compares tuned arms, or the rule itself
/// found it `untuned` (BASELINE_UNTUNED).
void finish_verdict(Verdict& verdict, const Claim& claim, const Evidence& evidence,
                    const std::string& measured, std::vector<std::string> untuned = {});

/// The end of a sentence about a number claimed to within a tolerance: " (interval .. ), inside the
/// paper's 2 +- 1e-06."
std::string within_text(const Verdict& verdict, const Claim& claim);

}  // namespace normbench
