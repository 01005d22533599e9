// Rule "divergence_expected": training breaks. A run is broken when it diverged, or when its final
// validation loss lies above `loss_above` nats per token, where the claim gives that limit.
//   REPRODUCED      every run is broken, of 2 seeds or more
//   DIRECTION_ONLY  some are
//   NOT_REPRODUCED  none is, of 2 seeds or more
//   INCONCLUSIVE    a single seed
// The interval is Clopper and Pearson's (1934) for the share of seeds that break at every budget.
// The rates are the claim's own, so tuning does not apply.
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <map>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"

namespace normbench {
namespace {

// Shares of 1; k of n.
Interval clopper_pearson(int k, int n, double alpha) {
  using boost::math::beta_distribution;
  return {k == 0 ? 0 : boost::math::quantile(beta_distribution<>(k, n - k + 1), alpha / 2),
          k == n ? 1 : boost::math::quantile(beta_distribution<>(k + 1, n - k), 1 - alpha / 2)};
}

}  // namespace

Verdict rule_divergence_expected(const Claim& claim, const Evidence& evidence,
                                 const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  const double alpha = evidence.input.alpha;
  verdict.unit = "%";
  verdict.paper = {
      {"diverged", true}, {"how", "claim of the table"}, {"where", evidence.input.table_file}};
  verdict.detail = {{"loss_above", claim.loss_above ? Json(*claim.loss_above) : Json()},
                    {"runs", Json::array()}};
  verdict.budgets = evidence.budgets(claim.challenger, dataset);
  std::map<int64_t, bool> seed_broken;  // at every budget
  double least_loss = INFINITY;
  int all = 0, all_diverged = 0, all_broken = 0;
  for (const int64_t budget : verdict.budgets) {
    int n = 0, diverged = 0, broken = 0;
    for (const int64_t seed : verdict.seeds) {
      const Record* record = evidence.find(claim.challenger, dataset, budget, seed);
      if (record == nullptr || !record->usable()) continue;
      const double loss = record->validation_loss();  // infinite when it diverged
      const bool is_broken = record->diverged() || (claim.loss_above && loss > *claim.loss_above);
      ++n;
      diverged += record->diverged();
      broken += is_broken;
      if (!is_broken) least_loss = std::min(least_loss, loss);
      const auto [before, is_new] = seed_broken.emplace(seed, is_broken);
      if (!is_new) before->second = before->second && is_broken;
      verdict.detail["runs"].push_back({{"budget", budget},
                                        {"seed", seed},
                                        {"loss", record->diverged() ? Json() : Json(loss)},
                                        {"broken", is_broken}});
    }
    Json row{{"budget", budget},
             {"counts", true},
             {"n", n},
             {"bound", ""},
             {"estimate", nullptr},
             {"low", nullptr},
             {"high", nullptr},
             {"challenger_diverged", diverged}};
    if (n > 0) {
      const Interval share = clopper_pearson(broken, n, alpha);
      row["estimate"] = 100.0 * broken / n;
      row["low"] = 100 * share.low;
      row["high"] = 100 * share.high;
    }
    verdict.per_budget.push_back(row);
    all += n, all_diverged += diverged, all_broken += broken;
  }
  verdict.pairs = static_cast<int>(seed_broken.size());
  if (verdict.pairs > 0) {
    int seeds = 0;
    for (const auto& [seed, is_broken] : seed_broken) seeds += is_broken;
    const Interval share = clopper_pearson(seeds, verdict.pairs, alpha);
    verdict.estimate = 100.0 * seeds / verdict.pairs;
    verdict.low = 100 * share.low;
    verdict.high = 100 * share.high;
  }
  std::string measured = std::to_string(all_broken) + " of " +
                         count_text(static_cast<size_t>(all), "run") +
                         " broke: " + std::to_string(all_diverged) + " diverged";
  if (claim.loss_above)
    measured += ", " + std::to_string(all_broken - all_diverged) + " ended above " +
                fixed(*claim.loss_above, 2) + " nats";
  if (all_broken < all) measured += "; the best one ended at " + fixed(least_loss, 3) + " nats";
  if (verdict.pairs < 2) {
    verdict.statistics_say = Outcome::kInconclusive;
    measured += "; a single seed does not decide, at least 2 are needed";
  } else {
    verdict.statistics_say = all_broken == all ? Outcome::kReproduced
                             : all_broken == 0 ? Outcome::kNotReproduced
                                               : Outcome::kDirectionOnly;
  }
  finish_verdict(verdict, claim, evidence, measured + ".");
  return verdict;
}

}  // namespace normbench
