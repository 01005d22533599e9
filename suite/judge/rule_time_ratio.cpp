// Rule "time_ratio": how many times as long does the challenger's step take?
//   of training runs:   ratio_s = seconds per token of the challenger / of the reference, medians
//                       of the steps, geometric mean over the common budgets, seed s (with equal
//                       batches this is the ratio of step times)
//   of a measurement:   ratio_s = value_s / over_s, two of its values in seconds
// t interval of ln ratio over the seeds, against 0 and against the claimed ratio. A claimed cost
// (ratio above 1) is not reproduced in size by a larger one: then DIRECTION_ONLY.
#include <cmath>
#include <map>

#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"
#include "suite/judge/text.h"

namespace normbench {
namespace {

std::optional<double> seconds_per_token(const Record& record) {
  const double tokens = record.summary.value("tokens", 0.0);
  const double step = record.summary.value("step_seconds_median", 0.0);
  if (record.diverged() || !(tokens > 0) || !(step > 0)) return std::nullopt;
  return step * record.summary.at("steps").get<double>() / tokens;
}

// [seed]: ln ratio; `*unlike`: pairs of runs from two kinds of machine.
std::map<int64_t, double> log_ratios_of_runs(const Claim& claim, const Evidence& evidence,
                                             const std::string& dataset, int* unlike) {
  std::map<int64_t, double> ratios;
  const auto budgets = evidence.common_budgets(claim.arms, dataset);
  for (const int64_t seed : evidence.pairs(claim.challenger, claim.reference, dataset)) {
    double sum = 0;
    bool whole = !budgets.empty();
    for (const int64_t budget : budgets) {
      const Record* a = evidence.find(claim.challenger, dataset, budget, seed);
      const Record* b = evidence.find(claim.reference, dataset, budget, seed);
      whole = whole && a->usable() && b->usable();
      if (!whole) break;
      const auto of_a = seconds_per_token(*a), of_b = seconds_per_token(*b);
      const bool alike = a->manifest.value("perf_class", "") == b->manifest.value("perf_class", "");
      *unlike += !alike;
      whole = of_a && of_b && alike;
      if (!whole) break;
      sum += std::log(*of_a / *of_b);
    }
    if (whole) ratios[seed] = sum / static_cast<double>(budgets.size());
  }
  return ratios;
}

std::map<int64_t, double> log_ratios_of_measurement(const Claim& claim, const Evidence& evidence) {
  std::map<int64_t, double> ratios;
  for (const Record* record : measured_records(claim, evidence)) {
    const double value = measured_value(claim, *record, claim.measured_value),
                 over = measured_value(claim, *record, claim.over);
    if (!(value > 0) || !(over > 0))
      throw UserError({.what = "a time that is not above 0",
                       .where = "claim " + claim.id + ", " + record->run.name,
                       .found = plain_text(value) + " and " + plain_text(over) + " seconds"});
    ratios[record->run.seed] = std::log(value / over);
  }
  return ratios;
}

}  // namespace

Verdict rule_time_ratio(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "x";
  const double alpha = evidence.input.alpha, sign = *claim.value < 1 ? -1 : 1;
  int unlike = 0;
  const auto ratios = claim.measurement.empty()
                          ? log_ratios_of_runs(claim, evidence, dataset, &unlike)
                          : log_ratios_of_measurement(claim, evidence);
  Effect effect;
  verdict.seeds.clear();
  verdict.detail = {{"by_seed", Json::array()}};
  for (const auto& [seed, log_ratio] : ratios) {
    effect.values.push_back(sign * log_ratio);
    verdict.seeds.push_back(seed);
    verdict.detail["by_seed"].push_back({{"seed", seed}, {"ratio", std::exp(log_ratio)}});
    verdict.facts.push_back(seed_fact(seed, std::exp(log_ratio)) + "x");
  }
  if (claim.measurement.empty()) verdict.budgets = evidence.common_budgets(claim.arms, dataset);
  effect.finish(alpha);
  verdict.pairs = static_cast<int>(effect.values.size());
  if (verdict.pairs > 0) verdict.estimate = std::exp(sign * effect.mean);
  const double claimed = std::abs(std::log(*claim.value));
  verdict.statistics_say = decide_superiority(effect, claimed);
  std::string measured;
  if (!effect.has_interval) {
    measured = "Fewer than 2 seeds have both times, so there is no interval";
  } else {
    const double a = std::exp(sign * effect.interval.low),
                 b = std::exp(sign * effect.interval.high);
    verdict.low = std::min(a, b);
    verdict.high = std::max(a, b);
    verdict.p_value = effect.p_value;
    verdict.detectable = std::exp(sign * minimum_detectable_effect(effect.s, verdict.pairs, alpha));
    const std::string paper = "the paper's " + fixed(*claim.value, 3) + "x";
    measured = "It takes " + fixed(*verdict.estimate, 3) + " times as long (interval " +
               fixed(*verdict.low, 3) + " .. " + fixed(*verdict.high, 3) + ")";
    if (sign > 0 && verdict.statistics_say == Outcome::kReproduced && *verdict.low > *claim.value) {
      verdict.statistics_say = Outcome::kDirectionOnly;
      measured += ", which is more than " + paper;
    } else if (verdict.statistics_say == Outcome::kReproduced) {
      measured += ", which excludes 1 and reaches " + paper;
    } else if (verdict.statistics_say == Outcome::kDirectionOnly) {
      measured += ": the direction holds, " + paper + " is outside";
    } else if (verdict.statistics_say == Outcome::kNotReproduced) {
      measured += ", which excludes the claimed direction";
    } else {
      measured += ", which holds 1: the direction is open";
      verdict.pairs_needed = more_pairs(effect, claimed, alpha);
      measured += "; " +
                  (*verdict.pairs_needed > 1000 ? "more than 1000"
                                                : std::to_string(*verdict.pairs_needed)) +
                  " seeds would settle it with 80 % power";
    }
  }
  if (unlike > 0)
    measured += "; " + count_text(static_cast<size_t>(unlike), "pair") +
                " of runs from two kinds of machine left out";
  finish_verdict(verdict, claim, evidence, measured + ".");
  return verdict;
}

}  // namespace normbench
