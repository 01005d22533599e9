// Rule "exact_identity": something that must be zero is zero, up to rounding.
//   REPRODUCED      |value| <= tolerance for every seed
//   NOT_REPRODUCED  otherwise
// No interval: an identity holds for each draw or does not hold.
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"

namespace normbench {

Verdict rule_exact_identity(const Claim& claim, const Evidence& evidence,
                            const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.paper = {{"value", *claim.tolerance},
                   {"how", "tolerance written in the table"},
                   {"where", evidence.input.table_file}};
  verdict.detail = {{"value", claim.measured_value}, {"by_seed", Json::array()}};
  verdict.seeds.clear();
  int failed = 0;
  for (const Record* record : measured_records(claim, evidence)) {
    const double value = measured_value(claim, *record, claim.measured_value);
    if (!verdict.estimate || std::abs(value) > std::abs(*verdict.estimate))
      verdict.estimate = value;
    failed += !(std::abs(value) <= *claim.tolerance);
    verdict.seeds.push_back(record->run.seed);
    verdict.detail["by_seed"].push_back({{"seed", record->run.seed}, {"value", value}});
    verdict.facts.push_back(seed_fact(record->run.seed, value));
  }
  verdict.pairs = static_cast<int>(verdict.seeds.size());
  std::string measured = "No seed was measured.";
  if (verdict.pairs > 0) {
    verdict.statistics_say = failed == 0 ? Outcome::kReproduced : Outcome::kNotReproduced;
    measured = claim.measured_value + " is at most " + plain_text(std::abs(*verdict.estimate)) +
               " over " + count_text(verdict.seeds.size(), "seed") + "; " +
               (failed == 0 ? "all" : std::to_string(verdict.pairs - failed) + " of them") +
               " within " + plain_text(*claim.tolerance) + ".";
  }
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
