// Rule "ordering": the arms stand in this order, the worst first, by final validation loss at the
// longest budget that all of them have.
//   gap_i,s = L_i,s - L_i+1,s    nats, neighbours i and i+1 of the claimed order, seed s
// t interval of each gap over the seeds:
//   REPRODUCED      every gap's interval lies above 0 (intersection-union: each must pass, so no
//                   correction is needed)
//   NOT_REPRODUCED  some gap's interval lies below 0 (alpha shared by the gaps)
//   DIRECTION_ONLY  neither, and the last is better than the first: the ends hold, the middle is
//                   open
//   INCONCLUSIVE    otherwise
#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"

namespace normbench {
namespace {

struct Gap {
  std::string worse, better;
  Effect effect;
  std::vector<int64_t> seeds;
  bool holds = false, reversed = false;
};

Gap gap_at(const Evidence& evidence, const std::string& worse, const std::string& better,
           const std::string& dataset, int64_t budget, size_t num_gaps) {
  const double alpha = evidence.input.alpha;
  const PairedLosses pairs = paired_losses(evidence, worse, better, dataset, budget);
  Gap gap{worse, better, gap_effect(pairs, alpha), pairs.seeds};
  gap.holds = gap_holds(gap.effect);
  gap.reversed = gap_reversed(gap.effect, alpha / static_cast<double>(num_gaps));
  return gap;
}

std::vector<Gap> gaps_at(const Claim& claim, const Evidence& evidence, const std::string& dataset,
                         int64_t budget) {
  std::vector<Gap> gaps;
  for (size_t i = 0; i + 1 < claim.arms.size(); ++i)
    gaps.push_back(
        gap_at(evidence, claim.arms[i], claim.arms[i + 1], dataset, budget, claim.arms.size() - 1));
  return gaps;
}

// A gap without losses is the least of all unless it is an infinite one.
double size_of(const Gap& gap) {
  if (!gap.effect.values.empty()) return gap.effect.mean;
  return gap.holds ? INFINITY : -INFINITY;
}

const Gap& smallest(const std::vector<Gap>& gaps) {
  return *std::min_element(gaps.begin(), gaps.end(),
                           [](const Gap& a, const Gap& b) { return size_of(a) < size_of(b); });
}

Json finite_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json gap_json(const Gap& gap) {
  const Effect& e = gap.effect;
  return {{"worse", gap.worse},
          {"better", gap.better},
          {"n", e.values.size()},
          {"worse_diverged", e.bounded_below},
          {"better_diverged", e.bounded_above},
          {"estimate", e.values.empty() ? Json() : Json(e.mean)},
          {"low", finite_or_null(e.interval.low)},
          {"high", finite_or_null(e.interval.high)},
          {"holds", gap.holds},
          {"reversed", gap.reversed}};
}

}  // namespace

Verdict rule_ordering(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  const auto label = [&](const std::string& arm) { return evidence.arm(arm).label; };
  const auto budgets = evidence.common_budgets(claim.arms, dataset);
  if (budgets.empty()) {
    verdict.planned_pairs = 0;
    finish_verdict(verdict, claim, evidence, "");
    return verdict;
  }
  for (const int64_t budget : budgets) {  // the row of a budget is its smallest gap
    const auto gaps = gaps_at(claim, evidence, dataset, budget);
    const Json least = gap_json(smallest(gaps));
    verdict.per_budget.push_back({{"budget", budget},
                                  {"counts", budget == budgets.back()},
                                  {"n", least["n"]},
                                  {"bound", ""},
                                  {"estimate", least["estimate"]},
                                  {"low", least["low"]},
                                  {"high", least["high"]}});
  }
  verdict.budgets = {budgets.back()};
  const auto gaps = gaps_at(claim, evidence, dataset, budgets.back());
  const Gap& least = smallest(gaps);
  verdict.seeds = least.seeds;
  verdict.pairs = static_cast<int>(least.effect.values.size());
  verdict.detail = {{"gaps", Json::array()}};
  bool all_hold = true, some_reversed = false, any_diverged = false;
  std::vector<Effect> effects;
  std::vector<std::optional<PairsNeeded>> needed;
  const Gap* open = nullptr;
  const auto shared = [&](const Gap& gap) {
    return shared_alpha_text(gap.effect, evidence.input.alpha, gaps.size());
  };
  for (const auto& gap : gaps) {
    verdict.detail["gaps"].push_back(gap_json(gap));
    verdict.facts.push_back(
        label(gap.worse) + " above " + label(gap.better) + " by " + nats_text(gap.effect) +
        (gap.holds      ? ""
         : gap.reversed ? ": reversed"
                        : shared(gap) + ": open") +
        (gap.effect.values.size() < 2 ? "" : "; " + by_seed_text(gap.effect.values)));
    all_hold = all_hold && gap.holds;
    some_reversed = some_reversed || gap.reversed;
    effects.push_back(gap.effect);
    any_diverged = any_diverged || gap.effect.open();
    if (gap.reversed && (open == nullptr || !open->reversed)) open = &gap;
    if (!gap.holds && open == nullptr) open = &gap;
    if (!gap.holds) add_pairs_needed(needed, gap.effect, evidence.input.alpha, gaps.size());
  }
  if (!least.effect.values.empty()) verdict.estimate = least.effect.mean;
  if (least.effect.has_interval) {
    if (!any_diverged) {
      verdict.p_value = p_of_gaps(effects, some_reversed);
      verdict.detectable =
          minimum_detectable_effect(least.effect.s, verdict.pairs, evidence.input.alpha);
    }
    if (std::isfinite(least.effect.interval.low)) verdict.low = least.effect.interval.low;
    if (std::isfinite(least.effect.interval.high)) verdict.high = least.effect.interval.high;
  }
  const Gap ends =
      gap_at(evidence, claim.arms.front(), claim.arms.back(), dataset, budgets.back(), 1);
  verdict.detail["ends"] = gap_json(ends);

  const std::string at = "At " + tokens_text(static_cast<double>(budgets.back())) + " tokens ";
  const std::string where =
      open == nullptr
          ? label(least.worse) + " above " + label(least.better) + " by " + nats_text(least.effect)
          : label(open->worse) + " above " + label(open->better) + " by " +
                nats_text(open->effect) + (open->reversed ? "" : shared(*open));
  std::string measured;
  if (all_hold) {
    verdict.statistics_say = Outcome::kReproduced;
    measured = at + "every arm is below the one before it; the smallest gap: " + where + ".";
  } else if (some_reversed) {
    verdict.statistics_say = Outcome::kNotReproduced;
    measured = at + "a gap has the other sign: " + where + ".";
  } else {
    verdict.statistics_say =
        ends.holds && gaps.size() > 1 ? Outcome::kDirectionOnly : Outcome::kInconclusive;
    measured = ends.holds && gaps.size() > 1
                   ? at + "the ends of the order hold (" + label(ends.worse) + " above " +
                         label(ends.better) + " by " + nats_text(ends.effect) +
                         "), the middle is open: " + where
                   : at + "the order is open: " + where;
    if (!needed.empty()) {
      measured += keep_pairs_needed(verdict, most_pairs(needed));
    }
    measured += ".";
  }
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
