// Rule "time_ratio": how many times as long does the challenger's step take?
//   of training runs:   ratio_s = seconds per token of the challenger / of the reference, medians
//                       of the steps, geometric mean over the common budgets, seed s (with equal
//                       batches this is the ratio of step times)
//   of a measurement:   ratio_s = value_s / over_s, two of its values in seconds
// t interval of ln ratio over the seeds, against 0 and against the claimed ratio. A claimed cost
// (ratio above 1) is not reproduced in size by a larger one: then DIRECTION_ONLY.
// Unrest of a run or a column of times: mean / median of its times. Steps do the same work, so what
// the mean is above the median was lost to something else. Where the median unrest of either side
// is as large as the claimed effect, the machine cannot show it: MACHINE_UNFIT. Times taken in turn
// (both in every row of a measurement) share a drift of the machine; those of whole runs, one after
// the other, do not, and the reason says so.
#include <cmath>
#include <map>

#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"
#include "suite/judge/step_time.h"
#include "suite/judge/text.h"

namespace normbench {
namespace {

// What the times themselves say of the machine.
struct Timing {
  std::map<std::string, std::vector<double>> unrest;  // [arm or column]: mean / median of its times
  bool in_turn = true;
  int unlike = 0;  // pairs of runs from two kinds of machine
};

double unrest_of(const Record& run) {
  return run.summary.at("seconds_train").get<double>() /
         (run.summary.at("steps").get<double>() *
          run.summary.at("step_seconds_median").get<double>());
}

// Empty when the machine was quiet enough for an effect of the claimed size.
std::string unfit_text(const Timing& timing, double claimed) {
  const auto [name, worst] = [&] {
    std::pair<std::string, double> found;
    for (const auto& [of, values] : timing.unrest)
      if (const double middle = median(values); middle > found.second) found = {of, middle};
    return found;
  }();
  if (name.empty() || std::log(worst) < std::abs(std::log(claimed))) return "";
  return "The times mean nothing here: those of " + name + " are " + fixed(worst, 2) +
         " times their median on the average, so that what else the machine did costs as much as "
         "the claimed " +
         fixed(claimed, 2) + "x.";
}

// [seed]: ln ratio.
std::map<int64_t, double> log_ratios_of_runs(const Claim& claim, const Evidence& evidence,
                                             const std::string& dataset, Timing& timing) {
  std::map<int64_t, double> ratios;
  timing.in_turn = false;
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
      timing.unlike += !alike;
      whole = of_a && of_b && alike;
      if (!whole) break;
      for (const Record* run : {a, b})
        timing.unrest[evidence.arm(run->run.arm).label].push_back(unrest_of(*run));
      sum += std::log(*of_a / *of_b);
    }
    if (whole) ratios[seed] = sum / static_cast<double>(budgets.size());
  }
  return ratios;
}

std::map<int64_t, double> log_ratios_of_measurement(const Claim& claim, const Evidence& evidence,
                                                    Timing& timing) {
  std::map<int64_t, double> ratios;
  for (const Record* record : measured_records(claim, evidence)) {
    const double value = measured_value(claim, *record, claim.measured_value),
                 over = measured_value(claim, *record, claim.over);
    if (!(value > 0) || !(over > 0))
      throw UserError({.what = "a time that is not above 0",
                       .where = "claim " + claim.id + ", " + record->run.name,
                       .found = plain_text(value) + " and " + plain_text(over) + " seconds"});
    ratios[record->run.seed] = std::log(value / over);
    std::map<std::string, std::vector<double>> times;
    for (const auto& line : record->step_lines) {
      const Json row = Json::parse(line);
      if (!row.contains(claim.measured_value) || !row.contains(claim.over)) continue;
      for (const auto& column : {claim.measured_value, claim.over})
        times[column].push_back(row[column].get<double>());
    }
    timing.in_turn = timing.in_turn && !times.empty();
    for (const auto& [column, values] : times)
      timing.unrest[column].push_back(mean(values) / median(values));
  }
  return ratios;
}

}  // namespace

Verdict rule_time_ratio(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "x";
  const double alpha = evidence.input.alpha, sign = *claim.value < 1 ? -1 : 1;
  Timing timing;
  const auto ratios = claim.measurement.empty()
                          ? log_ratios_of_runs(claim, evidence, dataset, timing)
                          : log_ratios_of_measurement(claim, evidence, timing);
  verdict.machine_unfit = unfit_text(timing, *claim.value);
  Effect effect;
  verdict.seeds.clear();
  verdict.detail = {{"by_seed", Json::array()}, {"in_turn", timing.in_turn}};
  for (const auto& [of, values] : timing.unrest) verdict.detail["unrest"][of] = median(values);
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
  if (!timing.in_turn && effect.has_interval)
    measured +=
        "; the two were timed one after the other and not in turn, so that a drift of the "
        "machine counts as a difference";
  if (timing.unlike > 0)
    measured += "; " + count_text(static_cast<size_t>(timing.unlike), "pair") +
                " of runs from two kinds of machine left out";
  finish_verdict(verdict, claim, evidence, measured + ".");
  return verdict;
}

}  // namespace normbench
