#include "suite/judge/step_time.h"

#include <gtest/gtest.h>

#include <cmath>

#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::World;

// Synthetic runs: 20 pairs, a token takes angpt 1.09 times as long.
constexpr double kSlower = 1.09;

struct TimedWorld : World {
  std::optional<TimeRatio> ratio() {
    return token_time_ratio(Evidence::load(input, folder.path()), "angpt", "gpt_plus", "gcide_1k");
  }
  /// Every run of seed 1 of one arm again, its steps this many times as long.
  void slow_down(const std::string& arm, double by) {
    for (const auto& run : input.runs)
      if (run.arm == arm && run.seed == 1)
        testing::write_record(folder.path(), run, options, {.summary = [by](Json& summary) {
                                summary["step_seconds_median"] =
                                    by * summary["step_seconds_median"].get<double>();
                              }});
  }
};

TEST(StepTime, SteadyRunsHaveOneRatio) {
  TimedWorld world;
  const auto ratio = world.ratio();
  ASSERT_TRUE(ratio.has_value());
  EXPECT_EQ(ratio->pairs, 20);
  for (const double value : {ratio->ratio, ratio->low, ratio->high})
    EXPECT_NEAR(value, kSlower, 1e-12);
}

TEST(StepTime, ASlowHourThatBothArmsSawChangesNothing) {
  TimedWorld world;
  for (const char* arm : {"angpt", "gpt_plus"}) world.slow_down(arm, 2);
  EXPECT_NEAR(world.ratio()->low, kSlower, 1e-12);
  EXPECT_NEAR(world.ratio()->high, kSlower, 1e-12);
}

TEST(StepTime, ADriftBetweenTheRunsOfAPairWidensTheRangeAndTheSeconds) {
  TimedWorld world;
  const Verdict quiet = world.verdict();
  world.slow_down("angpt", 2);
  const auto ratio = world.ratio();
  EXPECT_NEAR(ratio->ratio, kSlower * std::pow(2, 1 / 5.), 1e-12);  // one seed of five
  EXPECT_NEAR(ratio->low, kSlower, 1e-12);
  EXPECT_NEAR(ratio->high, 2 * kSlower, 1e-12);
  EXPECT_NEAR(ratio->spread, std::pow(2, 1 / 5.), 1e-9);  // of angpt's runs
  const Verdict verdict = world.verdict();
  EXPECT_NEAR(verdict.seconds["estimate"].get<double>(), *verdict.estimate / ratio->ratio, 1e-12);
  EXPECT_NEAR(verdict.seconds["low"].get<double>(), *quiet.low / (2 * kSlower), 1e-12);
  EXPECT_NEAR(verdict.seconds["high"].get<double>(), *quiet.high / kSlower, 1e-12);
}

TEST(StepTime, RunsOfTwoMachinesAreNotCompared) {
  TimedWorld world;
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed > 1)
      testing::write_record(world.folder.path(), run, world.options,
                            {.manifest = [](Json& m) { m["perf_class"] = "another"; }});
  EXPECT_EQ(world.ratio()->pairs, 4);
  const Evidence evidence = Evidence::load(world.input, world.folder.path());
  EXPECT_TRUE(tokens_per_second(evidence, "gpt_plus", "gcide_1k").has_value());
  EXPECT_FALSE(tokens_per_second(evidence, "angpt", "gcide_1k").has_value());
}

TEST(StepTime, ADivergedRunTimesNothing) {
  TimedWorld world;
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt")
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  EXPECT_FALSE(world.ratio().has_value());
  EXPECT_TRUE(world.verdict().seconds.is_null());
}

}  // namespace
}  // namespace normbench
