#include "suite/judge/stable_rate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "suite/base/text.h"

namespace normbench {

RateTrials trials_of(const Evidence& evidence, const std::string& arm, const std::string& dataset,
                     int64_t budget, int64_t seed) {
  RateTrials trials;
  for (const auto& record : evidence.sweep)
    if (record.run.arm == arm && record.run.dataset == dataset && record.run.seed == seed &&
        record.run.token_budget == budget)
      trials[record.run.peak_lr] = &record;
  return trials;
}

std::set<std::pair<int64_t, int64_t>> swept_places(const Evidence& evidence, const std::string& arm,
                                                   const std::string& dataset) {
  std::set<std::pair<int64_t, int64_t>> places;  // budget, seed
  for (const auto& record : evidence.sweep)
    if (record.run.arm == arm && record.run.dataset == dataset)
      places.insert({record.run.token_budget, record.run.seed});
  return places;
}

StableRate stable_rate(const RateTrials& trials, double within) {
  StableRate limit;
  double first_loss = 0;
  std::vector<double> rates, losses;
  for (const auto& [rate, record] : trials) {
    rates.push_back(rate);
    losses.push_back(record->validation_loss());
    first_loss = std::max(first_loss, number_in_line(record->step_lines.front(), "loss"));
  }
  const size_t best =
      static_cast<size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  limit.best_lr = rates[best];
  limit.best_loss = losses[best];
  if (!std::isfinite(limit.best_loss)) {
    limit.untuned = "every rate of the grid diverged";
    return limit;
  }
  if (best == 0)
    limit.untuned = "the best rate " + Json(rates[0]).dump() +
                    " is the lowest of the grid, the optimum may lie below it";
  size_t last = best;
  while (last + 1 < rates.size() && losses[last + 1] <= limit.best_loss + within) ++last;
  limit.stable = rates[last];
  if (last + 1 < rates.size()) limit.unstable = rates[last + 1];
  for (const double loss : losses)
    limit.sensitivity +=
        (std::min(loss, first_loss) - limit.best_loss) / static_cast<double>(losses.size());
  return limit;
}

Json stable_rate_json(const StableRate& limit) {
  const auto finite = [](double x) { return std::isfinite(x) && x > 0 ? Json(x) : Json(); };
  return {{"stable", finite(limit.stable)},
          {"unstable", finite(limit.unstable)},
          {"best_lr", limit.best_lr},
          {"best_loss", finite(limit.best_loss)},
          {"sensitivity", limit.stable > 0 ? Json(limit.sensitivity) : Json()}};
}

std::string stable_rate_text(const Json& row) {
  return "seed " + row.at("seed").dump() + ": stable up to " + row.at("stable").dump() +
         (row.at("unstable").is_number() ? ", not at " + row.at("unstable").dump()
                                         : ", the top of the grid") +
         "; best " + row.at("best_lr").dump() + " with " +
         fixed(row.at("best_loss").get<double>(), 3) + " nats";
}

Json stable_rates_json(const Evidence& evidence, double within) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets)
    for (const auto& arm : evidence.input.arms) {
      const auto places = swept_places(evidence, arm.name, dataset);
      for (const auto& [budget, seed] : places) {
        if (budget != places.rbegin()->first) continue;
        const RateTrials trials = trials_of(evidence, arm.name, dataset, budget, seed);
        if (!std::all_of(trials.begin(), trials.end(),
                         [](const auto& trial) { return trial.second->usable(); }))
          continue;
        const StableRate rate = stable_rate(trials, within);
        Json row = stable_rate_json(rate);
        row["untuned"] = rate.untuned;
        row["dataset"] = dataset;
        row["arm"] = arm.name;
        row["budget"] = budget;
        row["seed"] = seed;
        rows.push_back(std::move(row));
      }
    }
  return rows;
}

}  // namespace normbench
