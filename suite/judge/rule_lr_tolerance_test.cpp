// How much larger a learning rate an arm bears, on invented sweeps whose cliff is known.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "suite/judge/bless.h"
#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::SyntheticOptions;
using testing::World;

const std::vector<double> kGrid = {.001, .002, .004, .008, .016, .032, .064};

// Both arms are best at .004, and lie on a plateau of 5.5 nats above their own highest stable rate.
World world_with_limits(double challenger, double reference, double best = .004) {
  SyntheticOptions options;
  options.grid = kGrid;
  options.best_lr = best;
  options.budgets = {1048576, 2097152};
  World world(options);
  // Three seeds of the sweep.
  const auto first = world.input.sweep_runs;
  for (const int64_t seed : {102, 103})
    for (RunRef run : first) {
      run.seed = seed;
      world.input.sweep_runs.push_back(testing::planned(run, "trial " + Json(run.peak_lr).dump()));
    }
  world.options.truth = [=](const RunRef& run, double loss) {
    const double limit = run.arm == "angpt" ? challenger : reference;
    const double off = std::log2(run.peak_lr / best);
    return run.peak_lr > limit * 1.001 ? 5.5 : loss - .09 * off * off + .02 * std::abs(off);
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  return world;
}

Json tolerance(double published, World& world) {
  world.publish(published, "ratio");
  return {{"rule", "lr_tolerance"},
          {"challenger", "angpt"},
          {"reference", "gpt_plus"},
          {"stable_within_nats", .3},
          {"published", "/number"}};
}

TEST(LrTolerance, ALimitEightTimesAsHighIsReproduced) {
  World world = world_with_limits(.064, .008);
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NEAR(*verdict.estimate, 8, 1e-12);
  EXPECT_NEAR(*verdict.low, 4, 1e-12);     // .064 / .016: the reference breaks there
  EXPECT_FALSE(verdict.high.has_value());  // the top of the grid is stable
  EXPECT_EQ(verdict.bound, ">=");
  EXPECT_EQ(verdict.pairs, 3);
  EXPECT_EQ(verdict.per_budget.size(), 2u);
}

TEST(LrTolerance, ThreeTenthsAreThreeTimesOneTenth) {
  ASSERT_LT(.3 / .1, 3);
  SyntheticOptions options;
  options.grid = {.01, .03, .1, .3, 1};
  options.budgets = {1048576, 2097152};
  World world(options);
  const auto first = world.input.sweep_runs;
  for (RunRef run : first) {
    run.seed = 102;
    world.input.sweep_runs.push_back(testing::planned(run, "trial " + Json(run.peak_lr).dump()));
  }
  // The challenger is best at .1, bears .3 and breaks at 1; the reference is best at .03 and breaks
  // at .1.
  world.options.truth = [](const RunRef& run, double) {
    const double best = run.arm == "angpt" ? .1 : .03;
    if (run.peak_lr > (run.arm == "angpt" ? .5 : .05)) return 5.5;
    return 3 + std::abs(std::log(run.peak_lr / best)) / 10;
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
}

TEST(LrTolerance, TheLedgerShowsTheLimitOfEveryArmOfTheSweep) {
  World world = world_with_limits(.064, .008);
  // A third arm that no claim names.
  world.input.arms.push_back({"ngpt", "nGPT", "", ""});
  world.options.token_ratio["ngpt"] = 1;
  world.options.step_seconds["ngpt"] = .1;
  const auto first = world.input.sweep_runs;
  for (RunRef run : first)
    if (run.arm == "gpt_plus") {
      run.arm = "ngpt";
      world.input.sweep_runs.push_back(testing::planned(run, "trial " + Json(run.peak_lr).dump()));
    }
  testing::write_all(world.folder.path(), world.input, world.options);
  Json claim = tolerance(3, world);
  claim["id"] = claim["statement"] = "here";
  world.input.claims = Json::array({claim});
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  std::map<std::string, std::set<double>> stable;
  for (const auto& row : ledger["stable_rates"]["rows"]) {
    EXPECT_EQ(row["budget"], 2097152);  // the longest
    stable[row["arm"]].insert(row["stable"].get<double>());
  }
  EXPECT_EQ(stable["angpt"], std::set<double>{.064});
  EXPECT_EQ(stable["gpt_plus"], std::set<double>{.008});
  EXPECT_EQ(stable["ngpt"], std::set<double>{.008});
  EXPECT_NE(ledger_text(ledger).find("LARGEST STABLE RATES"), std::string::npos);
}

TEST(LrTolerance, AClaimInsideTheRangeIsNeitherReachedNorExcluded) {
  // .032 over .008: between .032 / .016 = 2 and .064 / .008 = 8.
  World world = world_with_limits(.032, .008);
  const Verdict inside = world.judge(tolerance(4, world));
  EXPECT_EQ(name(inside.outcome), "INCONCLUSIVE") << inside.reason;
  EXPECT_NE(inside.reason.find("the direction holds"), std::string::npos) << inside.reason;
  EXPECT_EQ(name(world.judge(tolerance(10, world)).outcome), "DIRECTION_ONLY");
  // An open end excludes nothing.
  World open = world_with_limits(.064, .008);
  EXPECT_EQ(name(open.judge(tolerance(10, open)).outcome), "INCONCLUSIVE");
}

TEST(LrTolerance, OneSeedDecidesNothing) {
  World world = world_with_limits(.064, .008);
  std::erase_if(world.input.sweep_runs, [](const RunRef& run) { return run.seed > 101; });
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_NE(verdict.reason.find("one seed alone"), std::string::npos) << verdict.reason;
}

TEST(LrTolerance, ItsRangeIsNotCalledAnInterval) {
  World world = world_with_limits(.064, .008);
  world.judge(tolerance(3, world));
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  EXPECT_NE(ledger_text(ledger).find("grid range"), std::string::npos);
  EXPECT_EQ(ledger_text(ledger).find("interval 95 %"), std::string::npos);
  const std::string page = report_page({ledger}, "");
  EXPECT_NE(page.find("grid range"), std::string::npos);
  EXPECT_EQ(page.find("interval 95 %"), std::string::npos);
}

TEST(LrTolerance, EqualLimitsAreInconclusiveAndALowerOneIsNotReproduced) {
  World equal = world_with_limits(.016, .016);
  const Verdict verdict = equal.judge(tolerance(3, equal));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_NEAR(*verdict.low, .5, 1e-12);
  EXPECT_NEAR(*verdict.high, 2, 1e-12);
  World lower = world_with_limits(.008, .032);
  const Verdict no = lower.judge(tolerance(3, lower));
  EXPECT_EQ(name(no.outcome), "NOT_REPRODUCED") << no.reason;
  // A claim of "bears less" is the mirrored one.
  EXPECT_EQ(name(lower.judge(tolerance(.5, lower)).outcome), "REPRODUCED");
  EXPECT_EQ(name(lower.judge(tolerance(.1, lower)).outcome), "DIRECTION_ONLY");
  EXPECT_EQ(name(equal.judge(tolerance(.5, equal)).outcome), "INCONCLUSIVE");
}

TEST(LrTolerance, TwoCensoredArmsLeaveTheRatioOpen) {
  World world = world_with_limits(.064, .064);
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_EQ(verdict.bound, "open");
  EXPECT_FALSE(verdict.low.has_value());
  EXPECT_FALSE(verdict.high.has_value());
}

TEST(LrTolerance, TheWorstSeedAndTheGridMakeTheInterval) {
  World world = world_with_limits(.064, .008);
  const auto truth = world.options.truth;
  world.options.truth = [=](const RunRef& run, double loss) {
    return run.arm == "angpt" && run.seed == 102 && run.peak_lr > .02 ? INFINITY : truth(run, loss);
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_NEAR(*verdict.low, 1, 1e-12);  // seed 102: .016 / .016
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_EQ(verdict.diverged.size(), 4u);  // two rates at two budgets
}

TEST(LrTolerance, AStableRateBeyondAGapDoesNotCount) {
  World world = world_with_limits(.064, .008);
  const auto truth = world.options.truth;
  world.options.truth = [=](const RunRef& run, double loss) {
    return run.arm == "angpt" && run.peak_lr == .016 ? 5.5 : truth(run, loss);
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_NEAR(*verdict.estimate, 1, 1e-12) << verdict.reason;
}

TEST(LrTolerance, AGridThatDoesNotHoldTheOptimumIsUntuned) {
  World low = world_with_limits(.064, .008, .001);
  const Verdict verdict = low.judge(tolerance(3, low));
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED") << verdict.reason;
  EXPECT_EQ(name(verdict.statistics_say), "INCONCLUSIVE");
  EXPECT_NE(verdict.reason.find("lowest of the grid"), std::string::npos) << verdict.reason;
  World broken = world_with_limits(.064, .008);
  const auto truth = broken.options.truth;
  broken.options.truth = [=](const RunRef& run, double loss) {
    return run.arm == "gpt_plus" ? INFINITY : truth(run, loss);
  };
  testing::write_all(broken.folder.path(), broken.input, broken.options);
  const Verdict all = broken.judge(tolerance(3, broken));
  EXPECT_EQ(name(all.outcome), "BASELINE_UNTUNED") << all.reason;
  EXPECT_NE(all.reason.find("every rate of the grid diverged"), std::string::npos) << all.reason;
}

TEST(LrTolerance, TheSensitivityStandsBeside) {
  World world = world_with_limits(.064, .008);
  const Verdict verdict = world.judge(tolerance(3, world));
  // angpt: .02 |log2(lr / best)| at 2, 1, 0, 1, 2, 3, 4 steps from the best: 13 * .02 / 7.
  EXPECT_NEAR(verdict.detail["sensitivity"]["angpt"].get<double>(), .26 / 7, 1e-3);
  EXPECT_GT(verdict.detail["sensitivity"]["gpt_plus"].get<double>(), .5);
  bool said = false;
  for (const auto& fact : verdict.facts)
    said = said || fact.find("LR sensitivity") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(LrTolerance, AMissingTrialIsNotRunAndASettingWithoutASweepToo) {
  World world = world_with_limits(.064, .008);
  std::filesystem::remove_all(world.folder.path(world.input.sweep_runs[3].run_id));
  const Verdict verdict = world.judge(tolerance(3, world));
  EXPECT_EQ(name(verdict.outcome), "NOT_RUN") << verdict.reason;
  EXPECT_NE(verdict.reason.find("1 of 84 runs"), std::string::npos) << verdict.reason;
  world.input.sweep_runs.clear();
  EXPECT_NE(world.judge(tolerance(3, world)).reason.find("plans no pair"), std::string::npos);
}

TEST(LrTolerance, WorksInASettingThatHasNothingButASweep) {
  World world = world_with_limits(.064, .008);
  world.input.runs.clear();
  world.input.peak_lr.clear();
  EXPECT_EQ(name(world.judge(tolerance(3, world)).outcome), "REPRODUCED");
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  for (const auto& row : ledger["tuning"]) EXPECT_TRUE(row["problems"].empty()) << row;
  EXPECT_NE(ledger_text(ledger).find("LR sensitivity"), std::string::npos);
  EXPECT_TRUE(check_claim(world.input, world.folder.path(), "here").green());

  // The verdict is blessed from the trials, and gated.
  const std::string file = world.folder.path("baseline.json");
  bless(world.input, world.folder.path(), file,
        {.reason = "first", .commit = "abc", .date = "2026-01-01", .may_diverge = {}});
  const auto check = [&] {
    return check_regression(world.input, world.folder.path(), file, "angpt", "verdict", 1);
  };
  EXPECT_TRUE(check().green()) << check().text;
  const auto truth = world.options.truth;
  world.options.truth = [=](const RunRef& run, double loss) {
    return run.peak_lr > .016 ? INFINITY : truth(run, loss);
  };
  testing::write_all(world.folder.path(), world.input, world.options);
  EXPECT_FALSE(check().green()) << check().text;
}

TEST(LrTolerance, OneTableHasOneMeaningOfStable) {
  World world = world_with_limits(.064, .008);
  Json first = tolerance(3, world);
  first["statement"] = "a limit three times as high";
  Json second = first;
  first["id"] = "first";
  second["id"] = "second";
  world.input.claims = {first, second};
  EXPECT_EQ(read_claims(world.input).size(), 2);
  world.input.claims[1]["stable_within_nats"] = .2;
  EXPECT_THROW(read_claims(world.input), UserError);
}

TEST(LrTolerance, IsReadStrictly) {
  World world = world_with_limits(.064, .008);
  const Json good = tolerance(3, world);
  EXPECT_EQ(claim_error(world.input, good), "");
  Json claim = good;
  claim.erase("stable_within_nats");
  EXPECT_NE(claim_error(world.input, claim).find("stable_within_nats"), std::string::npos);
  world.publish(1, "ratio");
  EXPECT_NE(claim_error(world.input, good).find("needs a published effect"), std::string::npos);
  world.publish(3, "nats");
  EXPECT_NE(claim_error(world.input, good).find("cannot read the published unit"),
            std::string::npos);
}

}  // namespace
}  // namespace normbench
