#include "suite/judge/step_time.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "suite/base/median.h"
#include "suite/judge/statistics.h"

namespace normbench {

std::optional<double> seconds_per_token(const Record& record) {
  const double tokens = record.summary.value("tokens", 0.0);
  const double step = record.summary.value("step_seconds_median", 0.0);
  if (record.diverged() || !(tokens > 0) || !(step > 0)) return std::nullopt;
  return step * record.summary.at("steps").get<double>() / tokens;
}

double spread_of(const SecondsByMachine& of_arm) {
  std::vector<double> off;
  for (const auto& [machine, seconds] : of_arm)
    for (const double x : seconds) off.push_back(std::abs(std::log(x / median(seconds))));
  return std::exp(mean(off));
}

std::optional<TimeRatio> token_time_ratio(const Evidence& evidence, const std::string& arm,
                                          const std::string& other, const std::string& dataset) {
  std::vector<double> log_ratios;
  SecondsByMachine of_arm_runs, of_other_runs;
  for (const auto& run : evidence.runs) {
    if (run.run.arm != arm || run.run.dataset != dataset || !run.usable()) continue;
    const Record* partner = evidence.find(other, dataset, run.run.token_budget, run.run.seed);
    const std::string machine = run.manifest.value("perf_class", "");
    if (partner == nullptr || !partner->usable() ||
        partner->manifest.value("perf_class", "") != machine)
      continue;
    const auto of_arm = seconds_per_token(run), of_other = seconds_per_token(*partner);
    if (!of_arm || !of_other) continue;
    log_ratios.push_back(std::log(*of_arm / *of_other));
    of_arm_runs[machine].push_back(*of_arm);
    of_other_runs[machine].push_back(*of_other);
  }
  if (log_ratios.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(log_ratios.begin(), log_ratios.end());
  return TimeRatio{std::exp(mean(log_ratios)), std::exp(*low), std::exp(*high),
                   static_cast<int>(log_ratios.size()),
                   std::max(spread_of(of_arm_runs), spread_of(of_other_runs))};
}

std::optional<double> tokens_per_second(const Evidence& evidence, const std::string& arm,
                                        const std::string& dataset) {
  std::set<std::string> classes;
  std::vector<double> rates;
  for (const auto& record : evidence.runs) {
    if (record.run.arm != arm || record.run.dataset != dataset || !record.usable()) continue;
    const auto seconds = seconds_per_token(record);
    if (!seconds) continue;
    classes.insert(record.manifest.value("perf_class", ""));
    rates.push_back(1 / *seconds);
  }
  if (classes.size() != 1) return std::nullopt;
  return median(rates);
}

}  // namespace normbench
