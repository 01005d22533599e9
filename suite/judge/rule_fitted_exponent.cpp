// Rule "fitted_exponent": y grows like a power of x.
//   ln y = a + b ln x    least squares over the rows of one seed's measurement
// The interval of b: Student's t over the seeds' b; with a single seed that of its regression.
// Against the published exponent +- tolerance: outcome.h, decide_within.
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"
#include "suite/judge/power_law.h"

namespace normbench {

Verdict rule_fitted_exponent(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  const double alpha = evidence.input.alpha;
  verdict.detail = {{"x", claim.x},
                    {"y", claim.y},
                    {"where", claim.where},
                    {"tolerance", *claim.tolerance},
                    {"by_seed", Json::array()}};
  verdict.seeds.clear();
  std::vector<double> exponents;
  Interval interval;
  for (const Record* record : measured_records(claim, evidence)) {
    const Columns columns = measured_columns(claim, *record);
    const PowerLaw law = fit_in_logs(columns.x, columns.y);
    interval = law.exponent_interval(alpha);
    exponents.push_back(law.exponent);
    verdict.seeds.push_back(record->run.seed);
    verdict.detail["by_seed"].push_back({{"seed", record->run.seed},
                                         {"exponent", law.exponent},
                                         {"standard_error", law.exponent_error},
                                         {"rows", law.n}});
    verdict.facts.push_back(seed_fact(record->run.seed, law.exponent) + " (standard error " +
                            plain_text(law.exponent_error) + ", " +
                            count_text(columns.x.size(), "row") + ")");
  }
  verdict.pairs = static_cast<int>(exponents.size());
  std::string measured = "No seed was measured.";
  if (!exponents.empty()) {
    if (exponents.size() >= 2) interval = t_interval(exponents, alpha);
    verdict.estimate = mean(exponents);
    if (std::isfinite(interval.low)) verdict.low = interval.low, verdict.high = interval.high;
    verdict.statistics_say = decide_within(interval, *claim.value, *claim.tolerance);
    measured = claim.y + " grows like " + claim.x + " to the power " +
               plain_text(*verdict.estimate) + within_text(verdict, claim);
  }
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
