// Learning-rate sweeps: which rate is an arm's best, was the grid wide enough to know, and did
// every arm get the same effort? A paper's gain can be smaller than the loss of half a grid step
// (spec: docs/method.md), so this decides before any claim does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/judge/input.h"
#include "suite/judge/record.h"

namespace normbench {

struct SweepTrial {
  double peak_lr = 0;
  int planned = 0, runs = 0, diverged = 0;
  double loss = 0;  // mean over the sweep's seeds; infinite when one of them diverged
  std::vector<std::string> run_ids = {};  // of the `runs` whose mean it is
};

/// y = a + b x + c x^2 with x = log2(peak_lr).
struct Parabola {
  double a = 0, b = 0, c = 0;
};
/// Through three points with distinct x.
Parabola parabola_through(const double x[3], const double y[3]);

/// One sweep: an arm on a dataset at one budget.
struct SweepPoint {
  std::string arm, dataset;
  int64_t token_budget = 0;
  std::vector<int64_t> seeds;
  std::vector<SweepTrial> trials;  // by rate
  bool complete = false;           // every planned trial has a record
  bool on_edge = false;            // the best trial is the grid's first or last
  double best_lr = 0;              // of a trial
  double chosen_lr =
      0;  // vertex of the parabola through the best trial and its neighbours, 3 significant digits
  std::optional<Parabola>
      parabola;  // absent on an edge or beside a diverged trial: then chosen_lr = best_lr
  std::optional<double> table_lr;     // what the table file holds for this budget
  std::vector<std::string> problems;  // why this rate is not a tuned one
  std::vector<std::string> doubts;    // why a tuned rate may miss the optimum all the same
  int num_trials() const;
};

/// A best rate moves with the budget. Runs of up to this many times the tokens of the longest sweep
/// still count as tuned, and their verdict says so.
constexpr double kTunedReach = 2;

struct Tuning {
  std::vector<SweepPoint> points;
  bool swept() const { return !points.empty(); }
  std::vector<const SweepPoint*> of(const std::string& arm, const std::string& dataset) const;
  /// Those whose record can be used, over all budgets.
  int trials_run(const std::string& arm, const std::string& dataset) const;
  /// Largest budget planned for an arm / largest at which its rates were swept; 0 when never.
  double reach(const JudgeInput& input, const std::string& arm, const std::string& dataset) const;
  /// Why the comparison of these arms on a dataset is not one of tuned arms; empty when it is.
  std::vector<std::string> problems(const JudgeInput& input, const std::vector<std::string>& arms,
                                    const std::string& dataset) const;
};

/// Where the loss is lower than at both neighbours (at one, at the ends of the grid), by rate. More
/// than one: what the seed does to the loss is as large as what the rate does.
std::vector<double> rates_of_minima(const std::vector<SweepTrial>& trials);

/// Fills in the point's best_lr, chosen_lr, on_edge, parabola, problems and doubts from its trials
/// (sorted by rate). While some are missing there is neither a problem nor a doubt about the
/// others.
void choose_rate(SweepPoint& point);

Tuning read_sweep(const JudgeInput& input, const std::vector<Record>& sweep);

struct TuneResult {
  Json peak_lr;  // the table's "peak_lr" block: {arm: {dataset: [[budget, rate], ...]}}
  std::vector<std::string>
      problems;           // edges, missing trials: the block then holds the best that is known
  bool complete = false;  // every planned trial was there
};
/// What `normbench tune` writes into the table file.
TuneResult tune(const JudgeInput& input, const std::string& runs_folder);

}  // namespace normbench
