#include "suite/judge/token_ratio.h"

#include <algorithm>
#include <cmath>

#include "suite/judge/outcome.h"
#include "suite/judge/statistics.h"
#include "suite/judge/step_time.h"

namespace normbench {
namespace {

// Whether the reference's ladder of this seed has all its rungs; a diverged one is a result, a
// missing one is not.
bool whole_ladder(const Evidence& evidence, const std::string& reference,
                  const std::string& dataset, int64_t seed) {
  for (const int64_t budget : evidence.budgets(reference, dataset)) {
    const Record* rung = evidence.find(reference, dataset, budget, seed);
    if (rung == nullptr || !rung->usable()) return false;
  }
  return true;
}

Json end_or_null(double log_end, bool open) { return open ? Json() : Json(std::exp(log_end)); }

// The ratio in tokens, where one of the challenger's tokens costs `price` of the reference's, and
// the price itself is known to lie within `price_low` .. `price_high`.
Json divided(const Json& tokens, double price, double price_low, double price_high) {
  const auto over = [&](const char* key, double by) {
    return tokens.at(key).is_number() ? Json(tokens.at(key).get<double>() / by) : Json();
  };
  return {{"estimate", over("estimate", price)},
          {"low", over("low", price_high)},
          {"high", over("high", price_low)},
          {"bound", tokens.at("bound")}};
}

}  // namespace

std::vector<TokenRatio> token_ratios_at(const Evidence& evidence, const std::string& challenger,
                                        const std::string& reference, const std::string& dataset,
                                        int64_t budget) {
  std::vector<TokenRatio> pairs;
  const auto rungs = evidence.budgets(reference, dataset);
  for (const int64_t seed : evidence.pairs(challenger, reference, dataset)) {
    const Record* run = evidence.find(challenger, dataset, budget, seed);
    const LossCurve ladder = evidence.curve(reference, dataset, seed);
    if (run == nullptr || !run->usable() || !whole_ladder(evidence, reference, dataset, seed))
      continue;
    const double loss = run->validation_loss();
    TokensNeeded needed{static_cast<double>(rungs.back()), Bound::kAtLeast}, smooth = needed;
    if (!ladder.tokens.empty()) {
      const LossCurve curve = never_rising(ladder);
      needed = tokens_needed(curve, loss);
      smooth = tokens_needed_smoothly(curve, loss);
    }
    const Record* same = evidence.find(reference, dataset, budget, seed);
    pairs.push_back(
        {.seed = seed,
         .log_ratio = std::log(needed.tokens / static_cast<double>(budget)),
         .smooth_log_ratio = std::log(smooth.tokens / static_cast<double>(budget)),
         .at_least = needed.bound == Bound::kAtLeast || ladder.tokens.size() < rungs.size(),
         .at_most = needed.bound == Bound::kAtMost || std::isinf(loss),
         .challenger_loss = loss,
         .reference_loss =
             same != nullptr && same->usable() ? same->validation_loss() : std::nan("")});
  }
  return pairs;
}

std::string ratio_bound(int at_least, int at_most) {
  return at_least > 0 && at_most > 0 ? "open" : at_least > 0 ? ">=" : at_most > 0 ? "<=" : "";
}

Json token_ratio_row(int64_t budget, const std::vector<TokenRatio>& pairs, bool counts,
                     double alpha) {
  Effect effect;
  std::vector<double> gains;
  Json list = Json::array();
  for (const auto& pair : pairs) {
    effect.values.push_back(pair.log_ratio);
    effect.bounded_below += pair.at_least;
    effect.bounded_above += pair.at_most;
    const double gain = pair.reference_loss - pair.challenger_loss;
    if (std::isfinite(gain)) gains.push_back(gain);
    list.push_back({{"seed", pair.seed},
                    {"ratio", std::exp(pair.log_ratio)},
                    {"bound", ratio_bound(pair.at_least, pair.at_most)}});
  }
  effect.finish(alpha);
  Json row{{"budget", budget},
           {"counts", counts},
           {"n", pairs.size()},
           {"pairs", list},
           {"at_least", effect.bounded_below},
           {"at_most", effect.bounded_above},
           {"bound", ratio_bound(effect.bounded_below, effect.bounded_above)},
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

Json in_seconds(const Json& tokens, const Evidence& evidence, const std::string& challenger,
                const std::string& reference, const std::string& dataset) {
  const auto time = token_time_ratio(evidence, challenger, reference, dataset);
  if (!time) return Json();
  Json seconds = divided(tokens, time->ratio, time->low, time->high);
  seconds["time_ratio"] = {{"estimate", time->ratio},
                           {"low", time->low},
                           {"high", time->high},
                           {"pairs", time->pairs},
                           {"spread", time->spread}};
  return seconds;
}

Json in_flops(const Json& tokens, const Evidence& evidence, const std::string& challenger,
              const std::string& reference, const std::string& dataset) {
  const auto of_challenger = evidence.flops_per_token(challenger, dataset);
  const auto of_reference = evidence.flops_per_token(reference, dataset);
  if (!of_challenger || !of_reference) return Json();
  const double price = *of_challenger / *of_reference;
  Json flops = divided(tokens, price, price, price);
  flops["per_token"] = {{"challenger", *of_challenger}, {"reference", *of_reference}};
  return flops;
}

double widest_step(const Evidence& evidence, const std::string& yardstick) {
  double widest = 1;
  for (const auto& dataset : evidence.input.datasets) {
    const auto rungs = evidence.budgets(yardstick, dataset);
    widest = std::max(widest, widest_step({rungs.begin(), rungs.end()}));
  }
  return widest;
}

Json equal_loss_json(const Evidence& evidence, const std::string& yardstick) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets) {
    const auto rungs = evidence.budgets(yardstick, dataset);
    if (rungs.size() < 2) continue;  // no ladder to read
    for (const auto& arm : evidence.input.arms) {
      if (arm.name == yardstick) continue;
      const auto untuned = evidence.tuning.problems(evidence.input, {arm.name, yardstick}, dataset);
      for (const int64_t budget : evidence.budgets(arm.name, dataset)) {
        const auto pairs = token_ratios_at(evidence, arm.name, yardstick, dataset, budget);
        if (pairs.empty()) continue;
        const Json row = token_ratio_row(budget, pairs, true, evidence.input.alpha);
        const Json tokens{{"estimate", row["estimate"]},
                          {"low", row["low"]},
                          {"high", row["high"]},
                          {"bound", row["bound"]}};
        rows.push_back({{"dataset", dataset},
                        {"arm", arm.name},
                        {"budget", budget},
                        {"at_last_rung", budget >= rungs.back()},
                        {"n", row["n"]},
                        {"tokens", tokens},
                        {"flops", in_flops(tokens, evidence, arm.name, yardstick, dataset)},
                        {"seconds", in_seconds(tokens, evidence, arm.name, yardstick, dataset)},
                        {"untuned", untuned.empty() ? "" : "untuned"}});
      }
    }
  }
  return rows;
}

}  // namespace normbench
