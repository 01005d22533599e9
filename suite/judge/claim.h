// A table's claims, read strictly, and the rules that decide them. A rule is one file; adding one
// is one line in claim.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/judge/evidence.h"
#include "suite/judge/outcome.h"

namespace normbench {

struct Claim {
  std::string id, statement, conditions, rule, challenger, reference;
  std::string
      out_of_scale;  // why this tier is too small for the paper's own claim; empty: it is not
  std::optional<double> margin_nats;  // rules with a margin
  std::optional<double> value;        // rules with a published number
  std::string unit;                   // of `value`: "ratio", "nats", "percent"
  Json published;  // the whole published entry: value, unit, how, where, uncertainty, note
  Json scale;      // at which the paper makes the claim
  std::vector<std::string>
      datasets;  // on which it is judged: the claim's own list, else the tier's
};

/// The claims that this tier judges. Throws UserError: unknown key, rule or arm (with the nearest
/// known), no such published number, a rule without its margin.
std::vector<Claim> read_claims(const JudgeInput& input);

/// Applies the claim's rule on one dataset.
Verdict judge_claim(const Claim& claim, const Evidence& evidence, const std::string& dataset);

// The rules.
Verdict rule_loss_difference(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset);
Verdict rule_non_inferiority(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset);
Verdict rule_speed_up(const Claim& claim, const Evidence& evidence, const std::string& dataset);

// What every rule begins and ends with (claim.cpp).

/// Everything but the measurement: names, paper's number, planned pairs, missing and diverged runs,
/// trials.
Verdict begin_verdict(const Claim& claim, const Evidence& evidence, const std::string& dataset);
/// Sets outcome and reason. What the statistics say stands unless, in this order: runs are missing
/// (NOT_RUN), the paper limits the claim (OUT_OF_SCALE), `timed` and the machine is unfit
/// (MACHINE_UNFIT), an arm is untuned (BASELINE_UNTUNED).
void finish_verdict(Verdict& verdict, const Claim& claim, const Evidence& evidence,
                    const std::string& measured, bool timed = false);

}  // namespace normbench
