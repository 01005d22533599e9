// Rule "loss_difference": the final validation losses at the longest common budget. By the
// published unit:
//   "nats"     L_ch - L_ref              "ratio"  L_ch / L_ref              "percent"  100 (1 -
//   L_ch / L_ref), "improvement"
// The sign of the published number is the claimed direction. Paired by seed, t interval; ratios in
// logs.
#include <cmath>

#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"
#include "suite/judge/text.h"

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

}  // namespace

Verdict rule_loss_difference(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset) {
  if (claim.unit != "nats" && claim.unit != "ratio" && claim.unit != "percent")
    throw UserError({.what = "rule loss_difference cannot read the published unit",
                     .where = "claim " + claim.id,
                     .found = "\"" + claim.unit + "\"",
                     .expected = "nats, ratio or percent"});
  const double published = forward_published(claim.unit, *claim.value);
  if (published == 0 || !std::isfinite(published))
    throw UserError({.what = "rule loss_difference needs a published effect",
                     .where = "claim " + claim.id,
                     .found = Json(*claim.value).dump() + " " + claim.unit,
                     .todo = "for \"no difference\" use non_inferiority with a margin"});
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = claim.unit == "ratio" ? "x" : claim.unit == "percent" ? "%" : "nats";
  const double alpha = evidence.input.alpha, sign = published < 0 ? -1 : 1;
  const auto planned = evidence.pairs(claim.challenger, claim.reference, dataset);

  Effect last;
  int challenger_diverged = 0;
  verdict.seeds.clear();
  for (const int64_t budget : evidence.budgets(claim.challenger, dataset)) {
    const PairedLosses pairs =
        paired_losses(evidence, claim.challenger, claim.reference, dataset, budget);
    Effect effect;
    for (size_t i = 0; i < pairs.seeds.size(); ++i)
      effect.values.push_back(sign * forward(claim.unit, pairs.challenger[i], pairs.reference[i]));
    effect.finish(alpha);
    Json row = paired_row(budget, pairs);
    if (!effect.values.empty()) row["estimate"] = back(claim.unit, sign * effect.mean);
    if (effect.has_interval) {
      const double a = back(claim.unit, sign * effect.interval.low),
                   b = back(claim.unit, sign * effect.interval.high);
      row["low"] = std::min(a, b);
      row["high"] = std::max(a, b);
    }
    if (evidence.find(claim.reference, dataset, budget, planned.empty() ? 0 : planned.front()) !=
        nullptr) {
      last = effect;
      challenger_diverged = pairs.challenger_diverged;
      verdict.seeds = pairs.seeds;
      verdict.budgets = {budget};
    }
    verdict.per_budget.push_back(row);
  }
  for (auto& row : verdict.per_budget)
    row["counts"] = !verdict.budgets.empty() && row["budget"] == verdict.budgets.front();

  verdict.pairs = static_cast<int>(last.values.size());
  if (verdict.pairs > 0) verdict.estimate = back(claim.unit, sign * last.mean);
  // A diverged challenger is infinitely worse than any claim of "better": no interval of the others
  // may hide it.
  if (challenger_diverged > 0)
    (sign < 0 ? last.bounded_above : last.bounded_below) = challenger_diverged;
  last.finish(alpha);
  if (last.has_interval) {
    const double a = back(claim.unit, sign * last.of_values.low),
                 b = back(claim.unit, sign * last.of_values.high);
    verdict.low = std::min(a, b);
    verdict.high = std::max(a, b);
    verdict.p_value = last.p_value;
    verdict.detectable =
        back(claim.unit, sign * minimum_detectable_effect(last.s, verdict.pairs, alpha));
  }
  const double claimed = std::abs(published);
  verdict.statistics_say = decide_superiority(last, claimed);
  const auto number = [&](double x) {
    return fixed(x, claim.unit == "percent" ? 2 : 3) +
           (verdict.unit == "x" ? "x" : " " + verdict.unit);
  };
  std::string measured;
  if (verdict.pairs < 2) {
    measured = "Fewer than 2 pairs of seeds have both losses, so there is no interval";
  } else {
    measured = "At " + tokens_text(static_cast<double>(verdict.budgets.front())) +
               " tokens the effect is " + number(*verdict.estimate) + " (interval " +
               number(*verdict.low) + " .. " + number(*verdict.high) + ")";
    switch (verdict.statistics_say) {
      case Outcome::kReproduced:
        measured += ", which excludes none and reaches the paper's " + number(*claim.value);
        break;
      case Outcome::kDirectionOnly:
        measured += ": the direction holds, the paper's " + number(*claim.value) + " is outside";
        break;
      case Outcome::kNotReproduced:
        measured += ", which excludes the claimed direction";
        break;
      default:
        measured += ", and the direction is not settled";
        verdict.pairs_needed = more_pairs(last, claimed, alpha);
        measured += pairs_needed_text(*verdict.pairs_needed);
    }
  }
  measured += ".";
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
