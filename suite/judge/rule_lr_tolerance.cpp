// Rule "lr_tolerance": how many times the reference's largest stable learning rate does the
// challenger bear? From the learning-rate sweep of the setting, longest budget swept for both.
//   limit r_k of an arm and a seed, known to within the cell [r_k, r_k+1): stable_rate.h
//   ratio = limit_challenger / limit_reference lies, over the cells and the seeds, in
//     [ min_s r_k,ch / r_k+1,ref ,  max_s r_k+1,ch / r_k,ref ]
// This grid range is no confidence interval, and inside it no value is likelier than another: a
// claimed ratio that it holds is neither reached nor excluded.
//   REPRODUCED      the lower end reaches the claimed ratio
//   DIRECTION_ONLY  the lower end is above 1, the upper one does not pass the claimed ratio
//   NOT_REPRODUCED  the upper end is not above 1
//   INCONCLUSIVE    otherwise, and for fewer than 2 seeds; a grid whose lowest rate is the best
//                   one, or on which every rate diverges, has not found the arm's optimum: untuned
// A claimed ratio below 1 is judged with the arms' roles exchanged.
// Beside it: the LR sensitivity of both.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/stable_rate.h"

namespace normbench {
namespace {

// Rates are decimals and a ratio of two is not: .3 / .1 must reach 3.
constexpr double kSlack = 1e-9;

// All seeds at one budget.
struct Ratio {
  double low = INFINITY, high = 0, log_sum = 0;
  int n = 0, challenger_censored = 0, reference_censored = 0;
  std::vector<int64_t> seeds;
  std::vector<std::string> untuned;
  Json limits = Json::array();
  std::map<std::string, double> sensitivity;  // [arm]: mean over the seeds
  double estimate() const { return std::exp(log_sum / n); }
  std::string bound() const {
    return challenger_censored > 0 && reference_censored > 0 ? "open"
           : challenger_censored > 0                         ? ">="
           : reference_censored > 0                          ? "<="
                                                             : "";
  }
};

Ratio ratio_at(const Claim& claim, const Evidence& evidence, const std::string& dataset,
               int64_t budget, const std::vector<int64_t>& seeds) {
  Ratio ratio;
  for (const int64_t seed : seeds) {
    std::map<std::string, StableRate> limits;
    bool whole = true;
    for (const auto& arm : claim.arms) {
      const RateTrials trials = trials_of(evidence, arm, dataset, budget, seed);
      for (const auto& [rate, record] : trials) whole = whole && record->usable();
      if (!whole) break;
      limits[arm] = stable_rate(trials, *claim.stable_within_nats);
    }
    if (!whole) continue;
    for (const auto& [arm, limit] : limits) {
      Json row = stable_rate_json(limit);
      row["arm"] = arm;
      row["seed"] = seed;
      row["budget"] = budget;
      ratio.limits.push_back(row);
      if (!limit.untuned.empty())
        ratio.untuned.push_back(arm + " on " + dataset + ", seed " + std::to_string(seed) + ": " +
                                limit.untuned);
    }
    const StableRate &a = limits[claim.challenger], &b = limits[claim.reference];
    if (a.stable == 0 || b.stable == 0) continue;
    for (const auto& arm : claim.arms) ratio.sensitivity[arm] += limits[arm].sensitivity;
    ++ratio.n;
    ratio.seeds.push_back(seed);
    ratio.log_sum += std::log(a.stable / b.stable);
    ratio.challenger_censored += std::isinf(a.unstable);
    ratio.reference_censored += std::isinf(b.unstable);
    ratio.low = std::min(ratio.low, a.stable / b.unstable);
    ratio.high = std::max(ratio.high, a.unstable / b.stable);
  }
  for (auto& [arm, sum] : ratio.sensitivity) sum /= ratio.n;
  return ratio;
}

Json end_or_null(double x) { return std::isfinite(x) && x > 0 ? Json(x) : Json(); }

}  // namespace

Verdict rule_lr_tolerance(const Claim& claim, const Evidence& evidence,
                          const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "x";
  const auto label = [&](const std::string& arm) { return evidence.arm(arm).label; };
  std::map<int64_t, std::vector<int64_t>> seeds_at;  // [budget]
  const auto others = swept_places(evidence, claim.reference, dataset);
  for (const auto& [budget, seed] : swept_places(evidence, claim.challenger, dataset))
    if (others.contains({budget, seed})) seeds_at[budget].push_back(seed);
  if (seeds_at.empty()) {
    verdict.planned_pairs = 0;
    finish_verdict(verdict, claim, evidence, "");
    return verdict;
  }
  const int64_t longest = seeds_at.rbegin()->first;
  Ratio last;
  verdict.detail = {{"stable_within_nats", *claim.stable_within_nats}, {"limits", Json::array()}};
  for (const auto& [budget, seeds] : seeds_at) {
    const Ratio ratio = ratio_at(claim, evidence, dataset, budget, seeds);
    for (const auto& limit : ratio.limits) verdict.detail["limits"].push_back(limit);
    verdict.per_budget.push_back({{"budget", budget},
                                  {"counts", budget == longest},
                                  {"n", ratio.n},
                                  {"bound", ratio.bound()},
                                  {"estimate", ratio.n > 0 ? Json(ratio.estimate()) : Json()},
                                  {"low", end_or_null(ratio.low)},
                                  {"high", end_or_null(ratio.high)}});
    if (budget == longest) last = ratio;
  }
  verdict.planned_pairs = static_cast<int>(seeds_at[longest].size());
  verdict.budgets = {longest};
  verdict.seeds = last.seeds;
  verdict.pairs = last.n;
  for (const auto& limit : last.limits) {
    if (!limit["stable"].is_number()) continue;
    verdict.facts.push_back(label(limit["arm"]) + ", " + stable_rate_text(limit));
  }
  if (last.n > 0) {
    std::vector<std::string> parts;
    for (const auto& arm : claim.arms) {
      verdict.detail["sensitivity"][arm] = last.sensitivity[arm];
      parts.push_back(label(arm) + " " + fixed(last.sensitivity[arm], 3));
    }
    verdict.facts.push_back(
        "LR sensitivity, mean over the grid of min(loss, loss before training) - best, nats: " +
        join(parts, ", "));
    verdict.estimate = last.estimate();
    verdict.bound = last.bound();
    if (last.low > 0) verdict.low = last.low;
    if (std::isfinite(last.high)) verdict.high = last.high;
  }
  // In the claimed direction: "bears less" is "the reference bears more".
  const bool inverted = *claim.value < 1;
  const double claimed = inverted ? 1 / *claim.value : *claim.value;
  const double low = inverted ? 1 / last.high : last.low,
               high = inverted ? 1 / last.low : last.high;
  std::string measured;
  const auto end = [](const std::optional<double>& x) {
    return x ? fixed(*x, 2) : std::string("open");
  };
  verdict.statistics_say = Outcome::kInconclusive;
  if (last.n == 0) {
    measured = "No seed has a stable rate of both arms.";
  } else {
    measured = label(claim.challenger) + " bears " +
               (verdict.bound == "open" ? "" : verdict.bound) + fixed(*verdict.estimate, 2) +
               "x the learning rate of " + label(claim.reference) + " (between " +
               end(verdict.low) + " and " + end(verdict.high) + ", by the grid and over " +
               count_text(static_cast<size_t>(last.n), "seed") + ")";
    if (!last.untuned.empty()) {
      measured += ", on a grid that does not hold the optimum.";
    } else if (last.n < 2) {
      measured += ": one seed alone decides nothing.";
    } else if (low >= claimed * (1 - kSlack)) {
      verdict.statistics_say = Outcome::kReproduced;
      measured += ", which reaches the paper's " + fixed(*claim.value, 2) + "x.";
    } else if (low > 1 + kSlack && high <= claimed * (1 + kSlack)) {
      verdict.statistics_say = Outcome::kDirectionOnly;
      measured += ": the direction holds, the paper's " + fixed(*claim.value, 2) + "x is outside.";
    } else if (low > 1 + kSlack) {
      measured +=
          ": the direction holds, the grid is too coarse or too short to tell whether the "
          "paper's " +
          fixed(*claim.value, 2) + "x is reached.";
    } else if (high <= 1 + kSlack) {
      verdict.statistics_say = Outcome::kNotReproduced;
      measured += ", which excludes the claimed direction.";
    } else {
      measured += ": the grid is too coarse or too short to settle the direction.";
    }
  }
  if (!verdict.diverged.empty())
    measured += " " + count_text(verdict.diverged.size(), "trial") + " diverged.";
  finish_verdict(verdict, claim, evidence, measured, last.untuned);
  return verdict;
}

}  // namespace normbench
