// Rule "time_ratio": how many times as long does the challenger's step take?
//   of training runs:   ratio_s = seconds per token of the challenger / of the reference, medians
//                       of the steps, geometric mean over the common budgets, seed s (with equal
//                       batches this is the ratio of step times)
//   of a measurement:   ratio_s = value_s / over_s, two of its values in seconds
// t interval of ln ratio over the seeds, against 0 and against the claimed ratio. A claimed cost
// (ratio above 1) is not reproduced in size by a larger one: then DIRECTION_ONLY.
// Unrest of a run or a column of times: mean / median of its times. Steps do the same work, so what
// the mean is above the median was lost to something else. Spread of an arm's runs: exp of the mean
// of |ln(x / m)|, with x a run's seconds per token and m the median of the arm's runs on that kind
// of machine; every run of an arm does the same work per token, whatever its seed and budget. Where
// the unrest or the spread of either side is as large as the claimed effect, the machine cannot
// show it: MACHINE_UNFIT. Times taken in turn (both in every row of a measurement) share a drift of
// the machine; those of whole runs, one after the other, do not, and the reason says so.
#include <cmath>
#include <map>

#include "suite/base/median.h"
#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"
#include "suite/judge/paired.h"
#include "suite/judge/step_time.h"

namespace normbench {
namespace {

// What the times themselves say of the machine.
struct Timing {
  std::map<std::string, std::vector<double>> unrest;  // [arm or column]: mean / median of its times
  // [arm][kind of machine]: seconds per token of its runs
  std::map<std::string, SecondsByMachine> of_runs;
  bool in_turn = true;
  int unlike = 0;  // pairs of runs from two kinds of machine
};

double unrest_of(const Record& run) {
  return run.summary.at("seconds_train").get<double>() /
         (run.summary.at("steps").get<double>() *
          run.summary.at("step_seconds_median").get<double>());
}

std::map<std::string, double> unrest_by_name(const Timing& timing) {
  std::map<std::string, double> middle;
  for (const auto& [of, values] : timing.unrest) middle[of] = median(values);
  return middle;
}

std::map<std::string, double> spread_by_name(const Timing& timing) {
  std::map<std::string, double> spread;
  for (const auto& [of, by_machine] : timing.of_runs) spread[of] = spread_of(by_machine);
  return spread;
}

// Empty when the machine was quiet enough for an effect of the claimed size.
std::string unfit_text(const Timing& timing, double claimed) {
  const auto worst_of = [&](const std::map<std::string, double>& by_name) {
    std::pair<std::string, double> worst;
    for (const auto& [name, value] : by_name)
      if (value > worst.second) worst = {name, value};
    return worst;
  };
  const auto is_as_large = [&](double factor) {
    return factor > 0 && std::log(factor) >= std::abs(std::log(claimed));
  };
  const std::string as_much = fixed(claimed, 2) + "x.";
  if (const auto [name, unrest] = worst_of(unrest_by_name(timing)); is_as_large(unrest))
    return "The times mean nothing here: those of " + name + " are " + fixed(unrest, 2) +
           " times their median on the average, so that what else the machine did costs as much as "
           "the claimed " +
           as_much;
  if (const auto [name, spread] = worst_of(spread_by_name(timing)); is_as_large(spread))
    return "The times mean nothing here: at equal work the runs of " + name + " are a factor " +
           fixed(spread, 2) + " off their median on the average, as much as the claimed " + as_much;
  return "";
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
      for (const auto& [run, seconds] : {std::pair(a, *of_a), std::pair(b, *of_b)}) {
        const std::string& label = evidence.arm(run->run.arm).label;
        timing.unrest[label].push_back(unrest_of(*run));
        timing.of_runs[label][run->manifest.value("perf_class", "")].push_back(seconds);
      }
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
  for (const auto& [of, unrest] : unrest_by_name(timing)) verdict.detail["unrest"][of] = unrest;
  for (const auto& [of, spread] : spread_by_name(timing)) verdict.detail["spread"][of] = spread;
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
      if (effect.interval.high < claimed) measured += ", though " + paper + " is excluded";
      measured += keep_pairs_needed(verdict, more_pairs(effect, claimed, alpha));
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
