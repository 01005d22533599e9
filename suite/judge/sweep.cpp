#include "suite/judge/sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "suite/base/names.h"
#include "suite/base/text.h"

namespace normbench {
namespace {

std::string place(const SweepPoint& point) {
  return point.arm + " on " + point.dataset + " at " +
         tokens_text(static_cast<double>(point.token_budget));
}

std::string rate_text(double lr) { return Json(lr).dump(); }

}  // namespace

std::vector<double> rates_of_minima(const std::vector<SweepTrial>& trials) {
  std::vector<double> rates;
  bool falling = true;  // a first trial below its neighbour is a minimum, too
  for (size_t i = 0; i < trials.size(); ++i) {
    const bool rises = i + 1 == trials.size() || trials[i + 1].loss > trials[i].loss;
    if (falling && rises && std::isfinite(trials[i].loss)) rates.push_back(trials[i].peak_lr);
    // Equal losses go on as they came: a flat bottom is one minimum.
    if (i + 1 < trials.size() && trials[i + 1].loss != trials[i].loss) falling = !rises;
  }
  return rates;
}

void choose_rate(SweepPoint& point) {
  const auto& trials = point.trials;
  // A trial that is missing may be the best one: what the others say is no trait of the grid yet.
  const bool complete = std::all_of(trials.begin(), trials.end(),
                                    [](const auto& trial) { return trial.runs == trial.planned; });
  if (const auto minima = rates_of_minima(trials); complete && minima.size() > 1) {
    std::vector<std::string> at;
    for (const double rate : minima) at.push_back(rate_text(rate));
    point.doubts.push_back(place(point) + ": the loss has " + std::to_string(minima.size()) +
                           " minima over the rate (" + join(at, ", ") +
                           "), so that luck of a seed may have chosen it");
  }
  const auto best = std::min_element(trials.begin(), trials.end(),
                                     [](const auto& a, const auto& b) { return a.loss < b.loss; });
  if (best == trials.end() || best->runs == 0) return;
  point.best_lr = point.chosen_lr = best->peak_lr;
  if (std::isinf(best->loss)) {
    if (complete) point.problems.push_back(place(point) + ": every trial diverged");
    return;
  }
  const auto i = best - trials.begin();
  point.on_edge = i == 0 || i + 1 == static_cast<std::ptrdiff_t>(trials.size());
  if (point.on_edge) {
    if (complete)
      point.problems.push_back(place(point) + ": the best rate " + rate_text(best->peak_lr) +
                               " is on the edge of its grid " + rate_text(trials.front().peak_lr) +
                               " .. " + rate_text(trials.back().peak_lr));
    return;
  }
  double x[3], y[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = std::log2(trials[static_cast<size_t>(i - 1 + k)].peak_lr);
    y[k] = trials[static_cast<size_t>(i - 1 + k)].loss;
  }
  if (!std::isfinite(y[0]) || !std::isfinite(y[2]))
    return;  // a cliff beside the best: no parabola, the best stays
  const Parabola p = parabola_through(x, y);
  if (!(p.c > 0)) return;  // three equal losses
  point.parabola = p;
  point.chosen_lr = round_to(std::exp2(std::clamp(-p.b / (2 * p.c), x[0], x[2])), 3);
}

Parabola parabola_through(const double x[3], const double y[3]) {
  const double first = (y[1] - y[0]) / (x[1] - x[0]);  // Newton's divided differences
  const double second = ((y[2] - y[1]) / (x[2] - x[1]) - first) / (x[2] - x[0]);
  return {y[0] - first * x[0] + second * x[0] * x[1], first - second * (x[0] + x[1]), second};
}

int SweepPoint::num_trials() const {
  int n = 0;
  for (const auto& trial : trials) n += trial.planned;
  return n;
}

std::vector<const SweepPoint*> Tuning::of(const std::string& arm,
                                          const std::string& dataset) const {
  std::vector<const SweepPoint*> found;
  for (const auto& point : points)
    if (point.arm == arm && point.dataset == dataset) found.push_back(&point);
  return found;
}

int Tuning::trials_run(const std::string& arm, const std::string& dataset) const {
  int n = 0;
  for (const auto* point : of(arm, dataset))
    for (const auto& trial : point->trials) n += trial.runs;
  return n;
}

double Tuning::reach(const JudgeInput& input, const std::string& arm,
                     const std::string& dataset) const {
  int64_t swept_to = 0, used_to = 0;
  for (const auto* point : of(arm, dataset)) swept_to = std::max(swept_to, point->token_budget);
  for (const auto& run : input.runs)
    if (run.arm == arm && run.dataset == dataset) used_to = std::max(used_to, run.token_budget);
  return swept_to > 0 ? static_cast<double>(used_to) / static_cast<double>(swept_to) : 0;
}

std::vector<std::string> Tuning::problems(const JudgeInput& input,
                                          const std::vector<std::string>& arms,
                                          const std::string& dataset) const {
  std::vector<std::string> all;
  if (!swept()) {
    if (input.peak_lr_source.empty()) all.push_back("this tier has no learning-rate sweep");
    for (const auto& arm : arms)
      if (is_one_of(arm, input.untuned_arms))
        all.push_back("the rate of " + arm + " is a guess (" + input.peak_lr_source + ")");
    return all;
  }
  std::map<int64_t, std::map<std::string, int>> effort;  // [budget][arm]: trials
  for (const auto& arm : arms) {
    const auto points_of_arm = of(arm, dataset);
    if (points_of_arm.empty()) all.push_back(arm + " on " + dataset + " was never swept");
    for (const auto* point : points_of_arm) {
      all.insert(all.end(), point->problems.begin(), point->problems.end());
      effort[point->token_budget][arm] += point->num_trials();
    }
    if (const double times = reach(input, arm, dataset); times > kTunedReach)
      all.push_back("the rates of " + arm + " on " + dataset + " serve " + plain_text(times) +
                    " times the tokens of the longest sweep, and a best rate moves with them");
  }
  for (auto& [budget, trials] : effort)
    for (const auto& arm : arms)
      if (trials[arm] != trials[arms.front()])
        all.push_back("unequal effort at " + tokens_text(static_cast<double>(budget)) + " on " +
                      dataset + ": " +
                      count_text(static_cast<size_t>(trials[arms.front()]), "trial") + " of " +
                      arms.front() + ", " + std::to_string(trials[arm]) + " of " + arm);
  return all;
}

namespace {

/// A rate at a budget that was never swept is somebody's choice, whatever the sweeps beside it say.
void name_unswept_rates(Tuning& tuning, const JudgeInput& input) {
  for (auto& point : tuning.points) {
    const auto arm = input.peak_lr.find(point.arm);
    if (arm == input.peak_lr.end() || !arm->second.contains(point.dataset)) continue;
    const auto swept = tuning.of(point.arm, point.dataset);
    if (swept.front() != &point) continue;  // said once
    for (const auto& entry : arm->second.at(point.dataset))
      if (std::none_of(swept.begin(), swept.end(), [&](const SweepPoint* other) {
            return other->token_budget == entry.token_budget;
          }))
        point.problems.push_back(point.arm + " on " + point.dataset + ": the table's peak_lr at " +
                                 tokens_text(static_cast<double>(entry.token_budget)) +
                                 " tokens was never swept; run `normbench tune`");
  }
}

}  // namespace

Tuning read_sweep(const JudgeInput& input, const std::vector<Record>& sweep) {
  std::map<std::tuple<std::string, std::string, int64_t>,
           std::map<double, std::vector<const Record*>>>
      grouped;
  for (const auto& record : sweep)
    grouped[{record.run.arm, record.run.dataset, record.run.token_budget}][record.run.peak_lr]
        .push_back(&record);
  std::map<std::string, std::set<int64_t>> verdict_seeds;  // [dataset]
  std::set<std::pair<std::string, std::string>> decided;   // arm and dataset
  for (const auto& run : input.runs) {
    verdict_seeds[run.dataset].insert(run.seed);
    decided.insert({run.arm, run.dataset});
  }

  Tuning tuning;
  for (const auto& [key, by_rate] : grouped) {
    SweepPoint point;
    std::tie(point.arm, point.dataset, point.token_budget) = key;
    std::set<int64_t> seeds;
    int missing = 0;
    for (const auto& [rate, records] : by_rate) {
      SweepTrial trial{.peak_lr = rate, .planned = static_cast<int>(records.size())};
      double sum = 0;
      for (const auto* record : records) {
        seeds.insert(record->run.seed);
        if (!record->usable()) {
          ++missing;
          continue;
        }
        ++trial.runs;
        trial.run_ids.push_back(record->run.run_id);
        trial.diverged += record->diverged();
        sum += record->validation_loss();
      }
      trial.loss = trial.runs > 0 ? sum / trial.runs : std::numeric_limits<double>::infinity();
      point.trials.push_back(trial);
    }
    point.seeds.assign(seeds.begin(), seeds.end());
    point.complete = missing == 0;
    if (missing > 0)
      point.problems.push_back(place(point) + ": " + std::to_string(missing) + " of " +
                               count_text(static_cast<size_t>(point.num_trials()), "trial") +
                               " missing, so that its best rate is not known yet");
    for (const int64_t seed : seeds)
      if (verdict_seeds[point.dataset].contains(seed))
        point.problems.push_back(place(point) + ": seed " + std::to_string(seed) +
                                 " of the sweep is also one of the verdict's");
    choose_rate(point);
    // The table's rate must be the one that the sweep says, or its source is not the sweep.
    if (const auto arm = input.peak_lr.find(point.arm); arm != input.peak_lr.end())
      if (const auto dataset = arm->second.find(point.dataset); dataset != arm->second.end())
        for (const auto& entry : dataset->second)
          if (entry.token_budget == point.token_budget) point.table_lr = entry.peak_lr;
    // Without a run that wants a tuned rate, the sweep itself is the experiment.
    const bool wanted = decided.contains({point.arm, point.dataset});
    if (!point.table_lr && wanted)
      point.problems.push_back(
          place(point) + ": the table holds no peak_lr for this budget; run `normbench tune`");
    if (point.table_lr && point.complete &&
        std::abs(*point.table_lr - point.chosen_lr) > 1e-9 * point.chosen_lr)
      point.problems.push_back(place(point) + ": the table's peak_lr " +
                               rate_text(*point.table_lr) + " is not what the sweep says, " +
                               rate_text(point.chosen_lr) + "; run `normbench tune`");
    tuning.points.push_back(std::move(point));
  }
  name_unswept_rates(tuning, input);
  return tuning;
}

TuneResult tune(const JudgeInput& input, const std::string& runs_folder) {
  const Tuning tuning =
      read_sweep(input, load_records(runs_folder, input.sweep_runs, input.canaries));
  TuneResult result;
  result.peak_lr = Json::object();
  result.complete = tuning.swept();
  for (const auto& point : tuning.points) {
    result.complete = result.complete && point.complete;
    if (point.chosen_lr > 0)
      result.peak_lr[point.arm][point.dataset].push_back(
          Json::array({point.token_budget, point.chosen_lr}));
    for (const auto& problem : point.problems)
      if (problem.find("normbench tune") == std::string::npos) result.problems.push_back(problem);
  }
  if (!tuning.swept()) result.problems.push_back("this tier plans no sweep");
  return result;
}

}  // namespace normbench
