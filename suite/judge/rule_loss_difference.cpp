// Rule "loss_difference": the final validation losses at the longest common budget. By the
// published unit:
//   "nats"     L_ch - L_ref
//   "ratio"    L_ch / L_ref
//   "percent"  100 (1 - L_ch / L_ref), "improvement"
// The sign of the published number is the claimed direction. Paired by seed, t interval; ratios in
// logs. A run that diverged is infinitely bad: it opens the interval on its side, whichever arm it
// is of; an arm of which every run diverged, two or more, is worse than one of which none did. A
// claimed deficit is not reproduced in size by one that is larger beyond doubt: DIRECTION_ONLY.
#include <cmath>
#include <tuple>
#include <utility>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"

namespace normbench {
namespace {

// Forward: two losses to the scale on which differences are averaged, 0 = no effect. Back: from
// there to the published unit.
double forward(const std::string& unit, double challenger, double reference) {
  return unit == "nats" ? challenger - reference : std::log(challenger / reference);
}
double forward_published(const std::string& unit, double value) {
  return unit == "nats" ? value : unit == "ratio" ? std::log(value) : std::log(1 - value / 100);
}
double back(const std::string& unit, double x) {
  return unit == "nats" ? x : unit == "ratio" ? std::exp(x) : 100 * (1 - std::exp(x));
}

// The difference in the claimed direction: positive when the claim holds. `sign` < 0: the claim is
// a lower loss of the challenger.
Effect effect_of(const PairedLosses& pairs, const std::string& unit, double sign, double alpha) {
  Effect effect;
  for (size_t i = 0; i < pairs.seeds.size(); ++i)
    effect.values.push_back(sign * forward(unit, pairs.challenger[i], pairs.reference[i]));
  effect.bounded_below = sign < 0 ? pairs.reference_diverged : pairs.challenger_diverged;
  effect.bounded_above = sign < 0 ? pairs.challenger_diverged : pairs.reference_diverged;
  effect.finish(alpha);
  effect.equal_budget = effect.interval;  // these are losses at equal budget
  return effect;
}

Outcome decide(const Effect& effect, double claimed, double alpha) {
  if (effect.values.empty())
    return gap_holds(effect)             ? Outcome::kReproduced
           : gap_reversed(effect, alpha) ? Outcome::kNotReproduced
                                         : Outcome::kInconclusive;
  return decide_superiority(effect, claimed);
}

// The interval in the published unit, the lower end first; an open end is absent.
std::pair<std::optional<double>, std::optional<double>> shown(const Interval& interval,
                                                              const std::string& unit,
                                                              double sign) {
  const auto end = [&](double x) {
    return std::isfinite(x) ? std::optional(back(unit, sign * x)) : std::nullopt;
  };
  const bool rising = (sign > 0) == (unit != "percent");
  return rising ? std::pair(end(interval.low), end(interval.high))
                : std::pair(end(interval.high), end(interval.low));
}

}  // namespace

Verdict rule_loss_difference(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset) {
  const double published = forward_published(claim.unit, *claim.value);
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = claim.unit == "ratio" ? "x" : claim.unit == "percent" ? "%" : "nats";
  const double alpha = evidence.input.alpha, sign = published < 0 ? -1 : 1;
  const auto planned = evidence.pairs(claim.challenger, claim.reference, dataset);

  Effect last;
  verdict.seeds.clear();
  for (const int64_t budget : evidence.budgets(claim.challenger, dataset)) {
    const PairedLosses pairs =
        paired_losses(evidence, claim.challenger, claim.reference, dataset, budget);
    const Effect effect = effect_of(pairs, claim.unit, sign, alpha);
    Json row = paired_row(budget, pairs);
    if (!effect.values.empty()) row["estimate"] = back(claim.unit, sign * effect.mean);
    if (effect.has_interval) {
      const auto [low, high] = shown(effect.interval, claim.unit, sign);
      if (low) row["low"] = *low;
      if (high) row["high"] = *high;
    }
    if (evidence.find(claim.reference, dataset, budget, planned.empty() ? 0 : planned.front()) !=
        nullptr) {
      last = effect;
      verdict.seeds = pairs.seeds;
      verdict.budgets = {budget};
    }
    verdict.per_budget.push_back(row);
  }
  for (auto& row : verdict.per_budget)
    row["counts"] = !verdict.budgets.empty() && row["budget"] == verdict.budgets.front();

  verdict.pairs = static_cast<int>(last.values.size());
  if (verdict.pairs > 0) verdict.estimate = back(claim.unit, sign * last.mean);
  if (last.has_interval) {
    std::vector<double> by_seed;
    for (const double value : last.values) by_seed.push_back(back(claim.unit, sign * value));
    verdict.facts.push_back(by_seed_text(by_seed, claim.unit == "percent" ? 2 : 3));
    std::tie(verdict.low, verdict.high) = shown(last.interval, claim.unit, sign);
    if (!last.open()) {
      verdict.p_value = last.p_value;
      verdict.detectable =
          back(claim.unit, sign * minimum_detectable_effect(last.s, verdict.pairs, alpha));
    }
  }
  const double claimed = std::abs(published);
  verdict.statistics_say = decide(last, claimed, alpha);
  const bool too_far =
      sign > 0 && (last.values.empty() || (last.has_interval && last.interval.low > claimed));
  if (too_far && verdict.statistics_say == Outcome::kReproduced)
    verdict.statistics_say = Outcome::kDirectionOnly;
  const auto number = [&](double x) {
    return fixed(x, claim.unit == "percent" ? 2 : 3) +
           (verdict.unit == "x" ? "x" : " " + verdict.unit);
  };
  const auto end = [&](const std::optional<double>& x) {
    return x ? number(*x) : std::string("open");
  };
  std::string measured;
  if (last.values.empty() && verdict.statistics_say != Outcome::kInconclusive) {
    measured = "Every run of one arm diverged, none of the other";
  } else if (verdict.pairs < 2) {
    measured = "Fewer than 2 pairs of seeds have both losses, so there is no interval";
  } else {
    measured = "At " + tokens_text(static_cast<double>(verdict.budgets.front())) +
               " tokens the effect is " + number(*verdict.estimate) + " (interval " +
               end(verdict.low) + " .. " + end(verdict.high) + ")";
    switch (verdict.statistics_say) {
      case Outcome::kReproduced:
        measured += ", which excludes none and reaches the paper's " + number(*claim.value);
        break;
      case Outcome::kDirectionOnly:
        measured += ": the direction holds, the paper's " + number(*claim.value) +
                    (too_far       ? " is less"
                     : last.open() ? " is not reached by the pairs that ended"
                                   : " is outside");
        break;
      case Outcome::kNotReproduced:
        measured += ", which excludes the claimed direction";
        break;
      default:
        measured += ", and the direction is not settled";
        if (last.interval.high < claimed)
          measured += ", though the paper's " + number(*claim.value) + " is excluded";
        measured += keep_pairs_needed(verdict, more_pairs(last, claimed, alpha));
    }
  }
  measured += ".";
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
