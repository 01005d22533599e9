// Rule "rate_exponent": how an arm's best peak rate moves with the width or with the budget.
//   eta*_s(p)   seed s's best rate at a place p = (width of the setting, budget): vertex of the
//               parabola through the best trial and its neighbours in log2 rate (sweep.h), from
//               that seed's losses alone
//   ln eta*_s = a_s + b_s ln x    least squares; x = width: ln eta* is the mean over the budgets,
//               x = tokens: the mean over the settings
// The interval of b: Student's t over the seeds' b_s; with a single seed that of its regression.
// Against the published exponent +- tolerance: outcome.h, decide_within. A best rate on the edge of
// its grid, or one beside a diverged trial, has no vertex: untuned.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/measured.h"
#include "suite/judge/power_law.h"

namespace normbench {
namespace {

struct Place {
  std::string setting;
  int64_t tokens = 0;
  auto operator<=>(const Place&) const = default;
};

// What one seed says.
struct SeedRates {
  std::map<Place, SweepPoint> best;
  std::map<std::string, double> width;  // [setting]
};

std::map<int64_t, SeedRates> rates_by_seed(const Claim& claim, const Evidence& evidence) {
  std::map<int64_t, SeedRates> seeds;
  for (const Record* record : records_of(claim, evidence, "")) {
    if (!record->usable()) continue;  // named in the verdict, which is NOT_RUN then
    const RunRef& run = record->run;
    SeedRates& seed = seeds[run.seed];
    SweepPoint& point = seed.best[{run.dataset, run.token_budget}];
    point.arm = run.arm;
    point.dataset = run.dataset;
    point.token_budget = run.token_budget;
    point.trials.push_back({.peak_lr = run.peak_lr,
                            .planned = 1,
                            .runs = 1,
                            .diverged = record->diverged(),
                            .loss = record->validation_loss()});
    seed.width[run.dataset] = record->manifest.at("config").at("size").at("width").get<double>();
  }
  for (auto& [seed, rates] : seeds)
    for (auto& [place, point] : rates.best) {
      std::sort(point.trials.begin(), point.trials.end(),
                [](const auto& a, const auto& b) { return a.peak_lr < b.peak_lr; });
      choose_rate(point);
    }
  return seeds;
}

// Geometric mean of the best rates at each x.
PowerLaw law_of(const SeedRates& seed, const std::string& of) {
  std::map<double, std::vector<double>> logs;  // [x]
  for (const auto& [place, point] : seed.best)
    logs[of == "width" ? seed.width.at(place.setting) : static_cast<double>(place.tokens)]
        .push_back(std::log(point.chosen_lr));
  std::vector<double> x, y;
  for (const auto& [at, values] : logs) {
    x.push_back(at);
    y.push_back(std::exp(mean(values)));
  }
  return fit_in_logs(x, y);
}

// Every setting at every budget, or the mean over one axis would move along the other.
bool is_whole_grid(const SeedRates& seed, const std::string& of) {
  std::set<int64_t> budgets;
  std::set<double> widths;
  for (const auto& [place, point] : seed.best) {
    budgets.insert(place.tokens);
    widths.insert(seed.width.at(place.setting));
  }
  return widths.size() == seed.width.size() &&
         seed.best.size() == seed.width.size() * budgets.size() &&
         (of == "width" ? widths.size() : budgets.size()) >= 2;
}

std::vector<std::string> without_vertex(const std::map<int64_t, SeedRates>& seeds) {
  std::vector<std::string> places;
  for (const auto& [seed, rates] : seeds)
    for (const auto& [place, point] : rates.best)
      if (!point.parabola)
        places.push_back("seed " + std::to_string(seed) + ", " + place.setting + " at " +
                         tokens_text(static_cast<double>(place.tokens)) +
                         ": the best rate has no neighbours on both sides that converged");
  return places;
}

}  // namespace

Verdict rule_rate_exponent(const Claim& claim, const Evidence& evidence,
                           const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  const double alpha = evidence.input.alpha;
  const auto seeds = rates_by_seed(claim, evidence);
  const auto untuned = without_vertex(seeds);
  verdict.detail = {{"of", claim.of}, {"tolerance", *claim.tolerance}, {"by_seed", Json::array()}};
  verdict.seeds.clear();
  std::vector<double> exponents;
  Interval interval;
  bool whole = !seeds.empty();
  for (const auto& [seed, rates] : seeds) whole = whole && is_whole_grid(rates, claim.of);
  if (whole)
    for (const auto& [seed, rates] : seeds) {
      const PowerLaw law = law_of(rates, claim.of);
      interval = law.exponent_interval(alpha);
      exponents.push_back(law.exponent);
      verdict.seeds.push_back(seed);
      Json row{{"seed", seed}, {"exponent", law.exponent}, {"best", Json::array()}};
      for (const auto& [place, point] : rates.best) {
        for (const auto& doubt : point.doubts)
          verdict.notes.push_back("seed " + std::to_string(seed) + ": " + doubt);
        row["best"].push_back({{"setting", place.setting},
                               {"width", rates.width.at(place.setting)},
                               {"tokens", place.tokens},
                               {"peak_lr", point.chosen_lr},
                               {"on_edge", point.on_edge}});
      }
      verdict.detail["by_seed"].push_back(row);
      verdict.facts.push_back(seed_fact(seed, law.exponent));
    }
  verdict.pairs = static_cast<int>(exponents.size());
  verdict.statistics_say = Outcome::kInconclusive;
  std::string measured = "An exponent needs two " +
                         std::string(claim.of == "width" ? "widths" : "budgets") +
                         " and every setting at every budget.";
  if (!exponents.empty()) {
    if (exponents.size() >= 2) interval = t_interval(exponents, alpha);
    verdict.estimate = mean(exponents);
    if (std::isfinite(interval.low)) verdict.low = interval.low, verdict.high = interval.high;
    verdict.statistics_say = decide_within(interval, *claim.value, *claim.tolerance);
    measured = "The best rate of " + evidence.arm(claim.challenger).label + " goes like the " +
               claim.of + " to the power " + plain_text(*verdict.estimate) +
               within_text(verdict, claim);
  }
  finish_verdict(verdict, claim, evidence, measured, untuned);
  return verdict;
}

}  // namespace normbench
