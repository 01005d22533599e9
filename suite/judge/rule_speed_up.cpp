// Rule "speed_up": how many times the challenger's tokens does the reference need for the
// challenger's final validation loss?
//   ratio_s(D) = D_ref,s(L_ch,s(D)) / D       seed s, challenger's budget D, reference's ladder of
//                                             the same seed (loss_curve.h)
//   y_s        = mean of ln ratio_s(D) over the budgets at which the claimed ratio lies inside the
//                ladder
//   verdict    = t interval of y over the seeds, against 0 and against ln(claimed)
// Which budgets count is fixed by the claim and the ladder, before any loss is looked at. Outside
// the ladder a pair gives a bound; with bounds there is no p and no smallest effect, since bounds
// that are equal have no spread.
// Beside it the same ratio in seconds and in FLOPs (token_ratio.h).
#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/loss_curve.h"
#include "suite/judge/paired.h"
#include "suite/judge/paper_estimator.h"
#include "suite/judge/token_ratio.h"

namespace normbench {
namespace {

constexpr double kSlack =
    1e-9;  // budgets are whole tokens: "2 x 4 M reaches 8 M" must not fail on a rounding

// What the losses at equal budget say: their difference, mean over the counting budgets, one value
// a seed; positive = challenger better. A diverged run is infinitely bad.
void take_losses(Effect& effect, const std::map<int64_t, std::vector<double>>& gains_of_seed,
                 double alpha) {
  Effect losses;
  for (const auto& [seed, gains] : gains_of_seed) take_gap(losses, mean(gains));
  losses.finish(alpha);
  constexpr double kOpen = std::numeric_limits<double>::infinity();
  if (losses.has_interval)
    effect.equal_budget = losses.interval;
  else if (gap_reversed(losses, alpha))
    effect.equal_budget = Interval{-kOpen, std::numeric_limits<double>::lowest()};
  else if (gap_holds(losses))
    effect.equal_budget = Interval{std::numeric_limits<double>::max(), kOpen};
  effect.equal_budget_values = losses.values;
}

Json papers_own(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  const LossCurve reference = never_rising(evidence.curve(claim.reference, dataset, std::nullopt));
  const LossCurve challenger = evidence.curve(claim.challenger, dataset, std::nullopt);
  Json rows = Json::array();
  for (size_t i = 0; i < challenger.tokens.size(); ++i) {
    const auto point = paper_speed_up(reference, challenger.tokens[i], challenger.loss[i]);
    rows.push_back({{"budget", static_cast<int64_t>(challenger.tokens[i])},
                    {"ratio", point ? Json(point->ratio) : Json()},
                    {"extrapolated", point && point->extrapolated}});
  }
  const auto headline = paper_headline(reference, challenger, 0);
  return {{"per_budget", rows}, {"headline", headline ? Json(*headline) : Json()}};
}

std::string ratio_text(const Verdict& v, int digits) {
  const auto end = [&](const std::optional<double>& x) {
    return x ? fixed(*x, digits) : std::string("open");
  };
  return (v.bound == "open" ? "" : v.bound) + fixed(*v.estimate, digits) + "x (interval " +
         end(v.low) + " .. " + end(v.high) + ")";
}

std::string explain(const Claim& claim, const Evidence& evidence, const Effect& effect,
                    const std::optional<PairsNeeded>& needed, const Verdict& v, bool inverted) {
  int digits = 2;  // that tell the ends of the interval from 1 and from the claim
  for (const auto& end : {v.low, v.high})
    if (end)
      digits = std::max({digits, digits_apart(*end, 1, 2), digits_apart(*end, *claim.value, 2)});
  const std::string claimed = fixed(*claim.value, digits) + "x";
  const std::string challenger = evidence.arm(claim.challenger).label,
                    reference = evidence.arm(claim.reference).label;
  const auto n = effect.values.size();
  if (n == 0) return "No pair of seeds has both runs.";
  if (n == 1)
    return "One pair of seeds (" + fixed(*v.estimate, digits) +
           "x) has no interval; at least 2 are needed.";
  const int censored = effect.bounded_below + effect.bounded_above;
  std::string text = reference + " needs " + ratio_text(v, digits) + " the tokens of " +
                     challenger + " for the same loss";
  const double far = inverted ? v.low.value_or(0) : v.high.value_or(0);
  switch (v.statistics_say) {
    case Outcome::kReproduced:
      text += ", which excludes 1 and reaches the paper's " + claimed + ".";
      break;
    case Outcome::kDirectionOnly:
      text += censored > 0 && effect.interval.low <= 0
                  ? ": the losses at equal budget show the direction, and the paper's " + claimed +
                        " is excluded."
              : censored > 0
                  ? ": the direction holds, but the ladder is too short to measure a size of " +
                        claimed + "."
                  : ": the direction holds, but the paper's " + claimed +
                        " is outside (the far end is " + fixed(far, digits) + "x).";
      break;
    case Outcome::kNotReproduced:
      text += censored > 0 ? ", and the losses at equal budget exclude the claimed direction."
                           : ", which excludes the claimed direction.";
      break;
    default:
      text += censored > 0 && effect.equal_budget && effect.equal_budget->low > 0
                  ? ": the losses at equal budget show the direction, the paper's " + claimed +
                        " is not excluded"
              : censored > 0 && (!v.low || !v.high)
                  ? ": the interval is open where the ladder ends, and the direction is not settled"
                  : ", which holds 1: the direction is open";
      // Bounds that are all equal have an interval of no width, which excludes nothing.
      if ((censored == 0 || effect.s > 0) &&
          (inverted ? v.low && *v.low > *claim.value : v.high && *v.high < *claim.value))
        text += ", though the paper's " + claimed + " is excluded";
      text += pairs_needed_text(needed) + ".";
  }
  if (censored > 0)
    text += " In " + std::to_string(censored) + " of " + count_text(n, "pair") +
            " some budget left the ladder" + (v.diverged.empty() ? "" : ", or a run diverged") +
            "; there the pair counts as a bound.";
  text += diverged_text(v);
  return text;
}

}  // namespace

Verdict rule_speed_up(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "x";
  const double alpha = evidence.input.alpha;
  NORMBENCH_CHECK(*claim.value > 0 && *claim.value != 1,
                  claim.id + " claims a ratio of " + std::to_string(*claim.value));
  const bool inverted = *claim.value < 1;  // "the challenger needs more tokens"
  const double sign = inverted ? -1 : 1;
  const auto ladder = evidence.budgets(claim.reference, dataset);

  struct Seed {
    double sum = 0, smooth_sum = 0;
    int budgets = 0;
    bool at_least = false, at_most = false;
  };
  std::map<int64_t, Seed> seeds;
  std::map<int64_t, std::vector<double>> gains_of_seed;
  for (const int64_t budget : evidence.budgets(claim.challenger, dataset)) {
    const double reach = static_cast<double>(budget) * *claim.value;
    const bool counts = !ladder.empty() &&
                        reach <= static_cast<double>(ladder.back()) * (1 + kSlack) &&
                        reach >= static_cast<double>(ladder.front()) * (1 - kSlack);
    const auto pairs =
        token_ratios_at(evidence, claim.challenger, claim.reference, dataset, budget);
    verdict.per_budget.push_back(token_ratio_row(budget, pairs, counts, alpha));
    if (!counts) continue;
    verdict.budgets.push_back(budget);
    for (const auto& pair : pairs) {
      Seed& seed = seeds[pair.seed];
      seed.sum += sign * pair.log_ratio;
      seed.smooth_sum += sign * pair.smooth_log_ratio;
      ++seed.budgets;
      seed.at_least = seed.at_least || pair.at_least;
      seed.at_most = seed.at_most || pair.at_most;
      // Where the reference has a run of this budget; a challenger that diverged has lost anyway.
      if (!std::isnan(pair.reference_loss) || std::isinf(pair.challenger_loss))
        gains_of_seed[pair.seed].push_back(sign * (pair.reference_loss - pair.challenger_loss));
    }
  }

  Effect effect, smooth;
  std::vector<std::string> by_seed;
  verdict.seeds.clear();
  for (const auto& [id, seed] : seeds) {
    if (seed.budgets != static_cast<int>(verdict.budgets.size()))
      continue;  // a run is missing: no pair
    effect.values.push_back(seed.sum / seed.budgets);
    smooth.values.push_back(seed.smooth_sum / seed.budgets);
    effect.bounded_below += inverted ? seed.at_most : seed.at_least;
    effect.bounded_above += inverted ? seed.at_least : seed.at_most;
    verdict.seeds.push_back(id);
    by_seed.push_back(
        (seed.at_least && seed.at_most ? "~" : ratio_bound(seed.at_least, seed.at_most)) +
        fixed(std::exp(sign * seed.sum / seed.budgets), 2) + "x");
  }
  take_losses(effect, gains_of_seed, alpha);
  effect.finish(alpha);
  smooth.bounded_below = effect.bounded_below, smooth.bounded_above = effect.bounded_above;
  smooth.equal_budget = effect.equal_budget;
  smooth.finish(alpha);
  verdict.pairs = static_cast<int>(effect.values.size());

  const int at_least = inverted ? effect.bounded_above : effect.bounded_below;
  const int at_most = inverted ? effect.bounded_below : effect.bounded_above;
  verdict.bound = ratio_bound(at_least, at_most);
  if (verdict.pairs > 0) verdict.estimate = std::exp(sign * effect.mean);
  if (effect.has_interval) {
    verdict.facts.push_back(by_seed_text(by_seed));
    const double low = std::exp(inverted ? -effect.interval.high : effect.interval.low);
    const double high = std::exp(inverted ? -effect.interval.low : effect.interval.high);
    if (at_most == 0) verdict.low = low;
    if (at_least == 0) verdict.high = high;
    if (at_least == 0 && at_most == 0) {
      verdict.p_value = effect.p_value;
      verdict.detectable =
          std::exp(sign * minimum_detectable_effect(effect.s, verdict.pairs, alpha));
    }
  }
  const double claimed = sign * std::log(*claim.value);
  verdict.statistics_say = decide_superiority(effect, claimed);
  if (effect.has_interval && ladder.size() >= 3) {
    const Outcome otherwise = decide_superiority(smooth, claimed);
    verdict.smooth = {{"estimate", std::exp(sign * smooth.mean)},
                      {"statistics_say", outcome_name(otherwise)}};
    if (otherwise != verdict.statistics_say)
      verdict.notes.push_back(
          "the answer hangs on how the rungs of the ladder are joined: by chords " +
          std::string(outcome_name(verdict.statistics_say)) + ", by a smooth curve " +
          outcome_name(otherwise) + " (" + fixed(std::exp(sign * smooth.mean), 2) + "x)");
  }
  std::optional<PairsNeeded> needed;
  if (verdict.statistics_say == Outcome::kInconclusive && effect.has_interval)
    needed = more_pairs(effect, claimed, alpha);
  if (needed) verdict.pairs_needed = needed->n;
  const Json tokens = {{"estimate", verdict.estimate ? Json(*verdict.estimate) : Json()},
                       {"low", verdict.low ? Json(*verdict.low) : Json()},
                       {"high", verdict.high ? Json(*verdict.high) : Json()},
                       {"bound", verdict.bound}};
  verdict.seconds = in_seconds(tokens, evidence, claim.challenger, claim.reference, dataset);
  if (Json flops = in_flops(tokens, evidence, claim.challenger, claim.reference, dataset);
      !flops.is_null())
    verdict.detail = {{"flops", std::move(flops)}};
  verdict.paper_estimator = papers_own(claim, evidence, dataset);

  std::string measured;
  if (verdict.budgets.empty() && !ladder.empty()) {
    measured = "A ratio of " + fixed(*claim.value, 2) + " cannot be measured inside the ladder " +
               tokens_text(static_cast<double>(ladder.front())) + " .. " +
               tokens_text(static_cast<double>(ladder.back())) + ": no budget times " +
               fixed(*claim.value, 2) + " lies in it.";
  } else {
    measured = explain(claim, evidence, effect, needed, verdict, inverted);
  }
  double widest = 1;
  bool rose = false;
  for (const int64_t seed : verdict.seeds) {
    const LossCurve read = evidence.curve(claim.reference, dataset, seed);
    bool pooled = false;
    never_rising(read, &pooled);
    rose = rose || pooled;
    widest = std::max(widest, widest_step(read.tokens));
  }
  if (widest > kWideStep && !verdict.budgets.empty())
    verdict.notes.push_back(wide_step_text(widest));
  if (rose)
    verdict.notes.push_back(
        "a reference ladder rises somewhere; its rungs were pooled before they were read");
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
