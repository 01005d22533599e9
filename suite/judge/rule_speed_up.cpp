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
// Beside it the same ratio in two other currencies:
//   in seconds: ratio / (seconds per token of the challenger / of the reference), medians
//   in FLOPs:   ratio / (FLOPs per token of the challenger / of the reference), training_flops.h
#include <cmath>

#include "suite/judge/claim_rules.h"
#include "suite/judge/paper_estimator.h"
#include "suite/judge/text.h"

namespace normbench {
namespace {

constexpr double kSlack =
    1e-9;  // budgets are whole tokens: "2 x 4 M reaches 8 M" must not fail on a rounding

struct Pair {
  int64_t seed;
  double log_ratio, smooth_log_ratio;  // rungs joined by chords, by a smooth curve
  Bound bound;
  double challenger_loss,
      reference_loss;  // at equal budget; the latter NaN when the reference has no such run
};

// Whether the reference's ladder of this seed has all its rungs; a diverged one is a result, a
// missing one is not.
bool whole_ladder(const Claim& claim, const Evidence& evidence, const std::string& dataset,
                  int64_t seed) {
  for (const int64_t budget : evidence.budgets(claim.reference, dataset)) {
    const Record* rung = evidence.find(claim.reference, dataset, budget, seed);
    if (rung == nullptr || !rung->usable()) return false;
  }
  return true;
}

// A diverged challenger has infinite loss: the reference's smallest budget is already enough. A
// diverged reference rung is left out of its ladder (and named in the verdict).
std::vector<Pair> pairs_at(const Claim& claim, const Evidence& evidence, const std::string& dataset,
                           int64_t budget) {
  std::vector<Pair> pairs;
  for (const int64_t seed : evidence.pairs(claim.challenger, claim.reference, dataset)) {
    const Record* run = evidence.find(claim.challenger, dataset, budget, seed);
    const LossCurve reference = evidence.curve(claim.reference, dataset, seed);
    if (run == nullptr || !run->usable() || reference.tokens.empty() ||
        !whole_ladder(claim, evidence, dataset, seed))
      continue;
    const LossCurve curve = never_rising(reference);
    const auto needed = tokens_needed(curve, run->validation_loss());
    const auto smooth = tokens_needed_smoothly(curve, run->validation_loss());
    const Record* same = evidence.find(claim.reference, dataset, budget, seed);
    pairs.push_back({seed, std::log(needed.tokens / static_cast<double>(budget)),
                     std::log(smooth.tokens / static_cast<double>(budget)), needed.bound,
                     run->validation_loss(),
                     same != nullptr && same->usable() ? same->validation_loss() : std::nan("")});
  }
  return pairs;
}

std::string bound_text(int at_least, int at_most) {
  return at_least > 0 && at_most > 0 ? "open" : at_least > 0 ? ">=" : at_most > 0 ? "<=" : "";
}

Json end_or_null(double log_end, bool open) { return open ? Json() : Json(std::exp(log_end)); }

// One row of the ladder, for the reader: not what the verdict is made of.
Json budget_row(int64_t budget, const std::vector<Pair>& pairs, bool counts, double alpha) {
  Effect effect;
  std::vector<double> gains;
  Json list = Json::array();
  for (const auto& pair : pairs) {
    effect.values.push_back(pair.log_ratio);
    effect.bounded_below += pair.bound == Bound::kAtLeast;
    effect.bounded_above += pair.bound == Bound::kAtMost;
    const double gain = pair.reference_loss - pair.challenger_loss;
    if (std::isfinite(gain)) gains.push_back(gain);
    list.push_back(
        {{"seed", pair.seed},
         {"ratio", std::exp(pair.log_ratio)},
         {"bound", bound_text(pair.bound == Bound::kAtLeast, pair.bound == Bound::kAtMost)}});
  }
  effect.finish(alpha);
  Json row{{"budget", budget},
           {"counts", counts},
           {"n", pairs.size()},
           {"pairs", list},
           {"at_least", effect.bounded_below},
           {"at_most", effect.bounded_above},
           {"bound", bound_text(effect.bounded_below, effect.bounded_above)},
           {"estimate", pairs.empty() ? Json() : Json(std::exp(effect.mean))},
           {"low", nullptr},
           {"high", nullptr},
           {"loss_gain", nullptr}};
  if (effect.has_interval) {
    row["low"] = end_or_null(effect.interval.low, effect.bounded_above > 0);
    row["high"] = end_or_null(effect.interval.high, effect.bounded_below > 0);
  }
  if (gains.size() >= 2) {
    const Interval interval = t_interval(gains, alpha);
    row["loss_gain"] = {
        {"mean", mean(gains)}, {"low", interval.low}, {"high", interval.high}, {"n", gains.size()}};
  }
  return row;
}

// Difference of losses at equal budget, mean over the counting budgets, one value a seed; positive
// = challenger better.
std::optional<Interval> equal_budget_interval(
    const std::map<int64_t, std::vector<double>>& gains_of_seed, double alpha) {
  std::vector<double> values;
  bool challenger_diverged = false, reference_diverged = false;
  for (const auto& [seed, gains] : gains_of_seed) {
    const double gain = mean(gains);
    if (std::isfinite(gain)) values.push_back(gain);
    challenger_diverged = challenger_diverged || gain == -std::numeric_limits<double>::infinity();
    reference_diverged = reference_diverged || gain == std::numeric_limits<double>::infinity();
  }
  if (values.size() < 2) return std::nullopt;
  Interval interval = t_interval(values, alpha);
  if (challenger_diverged) interval.low = Interval().low;
  if (reference_diverged) interval.high = Interval().high;
  return interval;
}

// The ratio in tokens, where one of the challenger's tokens costs `price` of the reference's.
Json divided(const Verdict& verdict, double price) {
  const auto scaled = [&](const std::optional<double>& value) {
    return value ? Json(*value / price) : Json();
  };
  return {{"estimate", scaled(verdict.estimate)},
          {"low", scaled(verdict.low)},
          {"high", scaled(verdict.high)},
          {"bound", verdict.bound}};
}

Json seconds_beside(const Claim& claim, const Evidence& evidence, const std::string& dataset,
                    const Verdict& verdict) {
  const auto challenger = evidence.seconds_per_token(claim.challenger, dataset);
  const auto reference = evidence.seconds_per_token(claim.reference, dataset);
  if (!challenger || !reference ||
      evidence.perf_class(claim.challenger, dataset) !=
          evidence.perf_class(claim.reference, dataset))
    return Json();
  const double step = *challenger / *reference;
  Json seconds = divided(verdict, step);
  seconds["step_time_ratio"] = step;
  return seconds;
}

Json flops_beside(const Claim& claim, const Evidence& evidence, const std::string& dataset,
                  const Verdict& verdict) {
  const auto challenger = evidence.flops_per_token(claim.challenger, dataset);
  const auto reference = evidence.flops_per_token(claim.reference, dataset);
  if (!challenger || !reference) return Json();
  Json flops = divided(verdict, *challenger / *reference);
  flops["per_token"] = {{"challenger", *challenger}, {"reference", *reference}};
  return flops;
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

std::string ratio_text(const Verdict& v) {
  const auto end = [](const std::optional<double>& x) {
    return x ? fixed(*x, 2) : std::string("open");
  };
  return (v.bound == "open" ? "" : v.bound) + fixed(*v.estimate, 2) + "x (interval " + end(v.low) +
         " .. " + end(v.high) + ")";
}

std::string explain(const Claim& claim, const Evidence& evidence, const Effect& effect,
                    const Verdict& v, bool inverted) {
  const std::string claimed = fixed(*claim.value, 2) + "x";
  const std::string challenger = evidence.arm(claim.challenger).label,
                    reference = evidence.arm(claim.reference).label;
  const auto n = effect.values.size();
  if (n == 0) return "No pair of seeds has both runs.";
  if (n == 1)
    return "One pair of seeds (" + fixed(*v.estimate, 2) +
           "x) has no interval; at least 2 are needed.";
  const int censored = effect.bounded_below + effect.bounded_above;
  std::string text =
      reference + " needs " + ratio_text(v) + " the tokens of " + challenger + " for the same loss";
  const double far = inverted ? v.low.value_or(0) : v.high.value_or(0);
  switch (v.statistics_say) {
    case Outcome::kReproduced:
      text += ", which excludes 1 and reaches the paper's " + claimed + ".";
      break;
    case Outcome::kDirectionOnly:
      text += censored > 0
                  ? ": the direction holds, but the ladder is too short to measure a size of " +
                        claimed + "."
                  : ": the direction holds, but the paper's " + claimed +
                        " is outside (the far end is " + fixed(far, 2) + "x).";
      break;
    case Outcome::kNotReproduced:
      text += ", which excludes the claimed direction.";
      break;
    default:
      text += censored > 0 && (!v.low || !v.high)
                  ? ": the interval is open where the ladder ends, and the direction is not settled"
                  : ", which holds 1: the direction is open";
      if (v.high && !inverted && *v.high < *claim.value)
        text += ", though the paper's " + claimed + " is excluded";
      if (v.pairs_needed)
        text += *v.pairs_needed > 1000
                    ? "; more than 1000 pairs would be needed"
                    : "; " + std::to_string(*v.pairs_needed) +
                          " pairs would settle an effect of this size with 80 % power";
      text += ".";
  }
  if (censored > 0)
    text += " In " + std::to_string(censored) + " of " + count_text(n, "pair") +
            " some budget left the ladder; there the pair counts as a bound.";
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
    const auto pairs = pairs_at(claim, evidence, dataset, budget);
    verdict.per_budget.push_back(budget_row(budget, pairs, counts, alpha));
    if (!counts) continue;
    verdict.budgets.push_back(budget);
    for (const auto& pair : pairs) {
      Seed& seed = seeds[pair.seed];
      seed.sum += sign * pair.log_ratio;
      seed.smooth_sum += sign * pair.smooth_log_ratio;
      ++seed.budgets;
      seed.at_least = seed.at_least || pair.bound == Bound::kAtLeast;
      seed.at_most = seed.at_most || pair.bound == Bound::kAtMost;
      const double gain = sign * (pair.reference_loss - pair.challenger_loss);
      if (!std::isnan(gain)) gains_of_seed[pair.seed].push_back(gain);
    }
  }

  Effect effect, smooth;
  verdict.seeds.clear();
  for (const auto& [id, seed] : seeds) {
    if (seed.budgets != static_cast<int>(verdict.budgets.size()))
      continue;  // a run is missing: no pair
    effect.values.push_back(seed.sum / seed.budgets);
    smooth.values.push_back(seed.smooth_sum / seed.budgets);
    effect.bounded_below += inverted ? seed.at_most : seed.at_least;
    effect.bounded_above += inverted ? seed.at_least : seed.at_most;
    verdict.seeds.push_back(id);
  }
  effect.equal_budget = equal_budget_interval(gains_of_seed, alpha);
  effect.finish(alpha);
  smooth.bounded_below = effect.bounded_below, smooth.bounded_above = effect.bounded_above;
  smooth.equal_budget = effect.equal_budget;
  smooth.finish(alpha);
  verdict.pairs = static_cast<int>(effect.values.size());

  const int at_least = inverted ? effect.bounded_above : effect.bounded_below;
  const int at_most = inverted ? effect.bounded_below : effect.bounded_above;
  verdict.bound = bound_text(at_least, at_most);
  if (verdict.pairs > 0) verdict.estimate = std::exp(sign * effect.mean);
  if (effect.has_interval) {
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
  if (verdict.statistics_say == Outcome::kInconclusive && effect.has_interval) {
    verdict.pairs_needed = more_pairs(effect, claimed, alpha);
  }
  verdict.seconds = seconds_beside(claim, evidence, dataset, verdict);
  if (Json flops = flops_beside(claim, evidence, dataset, verdict); !flops.is_null())
    verdict.detail = {{"flops", std::move(flops)}};
  verdict.paper_estimator = papers_own(claim, evidence, dataset);

  std::string measured;
  if (verdict.budgets.empty() && !ladder.empty()) {
    measured = "A ratio of " + fixed(*claim.value, 2) + " cannot be measured inside the ladder " +
               tokens_text(static_cast<double>(ladder.front())) + " .. " +
               tokens_text(static_cast<double>(ladder.back())) + ": no budget times " +
               fixed(*claim.value, 2) + " lies in it.";
  } else {
    measured = explain(claim, evidence, effect, verdict, inverted);
  }
  bool rose = false;
  for (const int64_t seed : verdict.seeds) {
    bool pooled = false;
    never_rising(evidence.curve(claim.reference, dataset, seed), &pooled);
    rose = rose || pooled;
  }
  if (rose)
    verdict.notes.push_back(
        "a reference ladder rises somewhere; its rungs were pooled before they were read");
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
