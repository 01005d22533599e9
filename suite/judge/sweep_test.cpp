#include "suite/judge/sweep.h"

#include <gtest/gtest.h>

#include <cmath>

#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

TEST(Sweep, AParabolaIsFoundExactly) {
  const double x[3] = {-7, -6.5, -5}, y[3] = {1 + 4.0, 1 + 2.25, 1.0};  // 1 + (x + 5)^2
  const Parabola p = parabola_through(x, y);
  EXPECT_NEAR(p.a, 26, 1e-12);
  EXPECT_NEAR(p.b, 10, 1e-12);
  EXPECT_NEAR(p.c, 1, 1e-12);
}

struct SweepWorld {
  explicit SweepWorld(double best_lr) {
    options.best_lr = best_lr;
    options.seed_sd = 0;
    input = testing::synthetic_input(options);
    testing::write_all(folder.path(), input, options);
  }
  testing::SyntheticOptions options;
  JudgeInput input;
  testing::TemporaryFolder folder;
};

TEST(Sweep, TuneFindsTheTrueOptimumBetweenTrials) {
  SweepWorld world(.0147);
  const TuneResult result = tune(world.input, world.folder.path());
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.problems.empty()) << result.problems.front();
  // The truth is a parabola in log2(lr), without noise: the vertex is exact up to the rounding to
  // three digits.
  EXPECT_EQ(result.peak_lr["angpt"]["gcide_1k"],
            Json::parse("[[1048576, 0.0147], [8388608, 0.0147]]"));
}

TEST(Sweep, AnOptimumOnTheEdgeIsAProblem) {
  SweepWorld world(.006);
  const TuneResult result = tune(world.input, world.folder.path());
  EXPECT_EQ(result.problems.size(), 4u);  // two arms, two budgets
  EXPECT_NE(result.problems.front().find("edge"), std::string::npos);
  EXPECT_EQ(result.peak_lr["angpt"]["gcide_1k"][0][1], .008);  // the best that is known
}

std::vector<double> minima(const std::vector<double>& losses) {
  std::vector<SweepTrial> trials;
  for (size_t i = 0; i < losses.size(); ++i)
    trials.push_back(
        {.peak_lr = static_cast<double>(i + 1), .planned = 1, .runs = 1, .loss = losses[i]});
  return rates_of_minima(trials);
}

TEST(Sweep, MinimaOverTheRateAreCounted) {
  const double broke = INFINITY;
  EXPECT_EQ(minima({3, 2, 3}), (std::vector<double>{2}));
  EXPECT_EQ(minima({3, 2, 1}), (std::vector<double>{3}));
  EXPECT_EQ(minima({1, 2, broke, broke}), (std::vector<double>{1}));
  EXPECT_EQ(minima({3, 2, 2, 3}).size(), 1u);  // a flat bottom is one
  EXPECT_EQ(minima({broke, broke}).size(), 0u);
  EXPECT_EQ(minima({2.898, 2.913, 2.916, 2.743, 2.968}), (std::vector<double>{1, 4}));
  EXPECT_EQ(minima({2, broke, 3, 4}), (std::vector<double>{1, 3}));
}

TEST(Sweep, SeveralMinimaRaiseADoubtAndOneDoesNot) {
  SweepWorld world(.0147);
  const auto doubts = [&] {
    size_t all = 0;
    const auto records = load_records(world.folder.path(), world.input.sweep_runs, {});
    for (const auto& point : read_sweep(world.input, records).points) all += point.doubts.size();
    return all;
  };
  EXPECT_EQ(doubts(), 0u);
  world.options.truth = [](const RunRef& run, double loss) {
    return run.peak_lr == .032 ? loss - 1 : loss;  // a lucky trial on the far side
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  EXPECT_EQ(doubts(), 4u);  // two arms, two budgets
}

TEST(Sweep, AMissingTrialIsAProblem) {
  SweepWorld world(.0147);
  std::filesystem::remove_all(world.folder.path(world.input.sweep_runs[2].run_id));
  const TuneResult result = tune(world.input, world.folder.path());
  EXPECT_FALSE(result.complete);
  EXPECT_NE(result.problems.front().find("1 of 5 trials missing"), std::string::npos)
      << result.problems.front();
}

TEST(Sweep, WhatIsMissingIsSaidOnceAndNoGridIsBlamedForIt) {
  SweepWorld world(.0147);
  const auto remove = [&](const std::vector<size_t>& trials) {  // of five at the first budget
    for (const size_t i : trials)
      std::filesystem::remove_all(world.folder.path(world.input.sweep_runs[i].run_id));
    return tune(world.input, world.folder.path()).problems;
  };
  const auto records = [&] {
    return load_records(world.folder.path(), world.input.sweep_runs, {});
  };
  // With the middle one gone the loss has a minimum on either side of the hole.
  EXPECT_EQ(remove({2}).size(), 1u);
  for (const auto& point : read_sweep(world.input, records()).points)
    EXPECT_TRUE(point.doubts.empty()) << point.doubts.front();
  // With one left, the best one is the first of the grid.
  const auto edge = remove({1, 3, 4});
  ASSERT_EQ(edge.size(), 1u);
  EXPECT_NE(edge[0].find("4 of 5 trials missing, so that its best rate is not known yet"),
            std::string::npos)
      << edge[0];
  const auto none = remove({0});
  ASSERT_EQ(none.size(), 1u);
  EXPECT_NE(none[0].find("5 of 5 trials missing"), std::string::npos) << none[0];
}

TEST(Sweep, ADivergedTrialIsInfinitelyBad) {
  SweepWorld world(.0147);
  for (const auto& run : world.input.sweep_runs)
    if (run.peak_lr >= .0226)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const TuneResult result = tune(world.input, world.folder.path());
  EXPECT_TRUE(result.complete);
  // The best trial stands beside the cliff: no parabola, and not an edge of the grid.
  EXPECT_EQ(result.peak_lr["angpt"]["gcide_1k"][0][1], .016);
  EXPECT_TRUE(result.problems.empty()) << result.problems.front();
}

}  // namespace
}  // namespace normbench
