// Rule "non_inferiority": the challenger is not worse than the reference by more than a margin
// written before the run.
//   d_s(D) = L_ch,s(D) - L_ref,s(D), nats, at equal budget
//   REPRODUCED      at every budget the interval of d ends below the margin (each must pass, so no
//   correction is needed) NOT_REPRODUCED  at some budget it begins above the margin (alpha shared
//   by the budgets), or every challenger run diverged INCONCLUSIVE    otherwise
#include <cmath>

#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"
#include "suite/judge/text.h"

namespace normbench {

Verdict rule_non_inferiority(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  const double alpha = evidence.input.alpha, margin = *claim.margin_nats;
  const auto planned = evidence.pairs(claim.challenger, claim.reference, dataset);
  verdict.paper = {{"value", margin},
                   {"unit", "nats"},
                   {"how", "margin written in the table"},
                   {"where", evidence.input.table_file}};

  const std::vector<int64_t> budgets = evidence.common_budgets(claim.arms, dataset);
  verdict.budgets = budgets;

  bool all_pass = !budgets.empty(), some_excluded = false;
  double worst_high = -std::numeric_limits<double>::infinity(), worst_s = 0;
  int64_t worst_budget = 0, fewest = static_cast<int64_t>(planned.size());
  for (const int64_t budget : budgets) {
    const PairedLosses pairs =
        paired_losses(evidence, claim.challenger, claim.reference, dataset, budget);
    const std::vector<double> differences = pairs.differences();
    const int challenger_diverged = pairs.challenger_diverged,
              reference_diverged = pairs.reference_diverged;
    fewest = std::min<int64_t>(fewest, static_cast<int64_t>(differences.size()));
    Json row = paired_row(budget, pairs);
    if (challenger_diverged > 0) row["bound"] = ">=";
    Interval interval;
    double shown =
               differences.empty() ? std::numeric_limits<double>::infinity() : mean(differences),
           s = 0;
    if (!differences.empty()) row["estimate"] = shown;
    if (differences.size() >= 2) {
      interval = t_interval(differences, alpha);
      s = sample_sd(differences);
      some_excluded =
          some_excluded ||
          t_interval(differences, alpha / static_cast<double>(budgets.size())).low > margin;
      row["low"] = interval.low;
      if (challenger_diverged == 0) row["high"] = interval.high;
    }
    if (challenger_diverged > 0)
      interval.high = Interval().high;  // a diverged run is infinitely worse
    some_excluded = some_excluded ||
                    (differences.empty() && challenger_diverged > 0 && reference_diverged == 0);
    all_pass = all_pass && interval.high < margin;
    if (interval.high > worst_high || verdict.per_budget.empty()) {
      worst_high = interval.high, worst_s = s, worst_budget = budget;
      verdict.estimate = std::isfinite(shown) ? std::optional(shown) : std::nullopt;
      verdict.low = std::isfinite(interval.low) ? std::optional(interval.low) : std::nullopt;
      verdict.high = std::isfinite(interval.high) ? std::optional(interval.high) : std::nullopt;
    }
    verdict.per_budget.push_back(row);
  }
  verdict.pairs = static_cast<int>(budgets.empty() ? 0 : fewest);
  if (verdict.pairs >= 2)
    verdict.detectable = minimum_detectable_effect(worst_s, verdict.pairs, alpha);

  std::string measured;
  const auto nats = [](const std::optional<double>& x) {
    return x ? fixed(*x, 3) : std::string("open");
  };
  const std::string worst =
      "the worst budget is " + tokens_text(static_cast<double>(worst_budget)) + " with " +
      nats(verdict.estimate) + " nats (" + nats(verdict.low) + " .. " + nats(verdict.high) + ")";
  if (some_excluded) {
    verdict.statistics_say = Outcome::kNotReproduced;
    measured = "The challenger is worse by more than the margin of " + fixed(margin, 3) + ": " +
               worst + ".";
  } else if (all_pass) {
    verdict.statistics_say = Outcome::kReproduced;
    measured = "At no budget can the challenger be worse by the margin of " + fixed(margin, 3) +
               "; " + worst + ".";
  } else {
    verdict.statistics_say = Outcome::kInconclusive;
    measured = verdict.pairs < 2
                   ? "Fewer than 2 pairs have both losses, so there is no interval"
                   : "The interval holds the margin of " + fixed(margin, 3) + ": " + worst;
    if (verdict.pairs >= 2) {
      verdict.pairs_needed = pairs_needed(margin, worst_s, alpha);
      measured += *verdict.pairs_needed > 1000
                      ? "; more than 1000 pairs would be needed"
                      : "; if the arms are equal, " + std::to_string(*verdict.pairs_needed) +
                            " pairs would show it with 80 % power";
    }
    measured += ".";
  }
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
