// Rule speed_up on invented records whose truth is known. In some cases it must say no.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::name;
using testing::with_ratio;
using testing::World;

TEST(SpeedUp, ATrueRatioOfTheClaimedSizeIsReproduced) {
  World world(with_ratio(1.4));
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NEAR(*verdict.estimate, 1.4,
              .06);  // chords: 2 %; seed noise .008 nats / slope .3 nats per e-fold / sqrt(15): 1 %
  EXPECT_EQ(verdict.budgets,
            (std::vector<int64_t>{1048576, 2097152, 4194304}));  // 8 M times 1.4 is outside
  EXPECT_EQ(verdict.pairs, 5);
  EXPECT_EQ(verdict.trials["angpt"], 10);
}

TEST(SpeedUp, ASmallTrueRatioIsDirectionOnly) {
  World world(with_ratio(1.15));
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "DIRECTION_ONLY") << verdict.reason;
  EXPECT_LT(*verdict.high, 1.4);
}

TEST(SpeedUp, ASlowerChallengerIsNotReproduced) {
  World world(with_ratio(.8));
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << verdict.reason;
  EXPECT_EQ(verdict.bound, "<=");  // at the first budget the reference's ladder begins too late
  EXPECT_FALSE(verdict.low.has_value());
}

TEST(SpeedUp, NoiseIsInconclusiveAndSaysHowManyPairsAreNeeded) {
  // On a middle rung, so that no pair leaves the ladder.
  World world(with_ratio(1.08), [](const RunRef& run, double loss) {
    const bool noisy = run.arm == "angpt" && run.token_budget == 2097152;
    return noisy ? loss + (run.seed % 2 == 0 ? -.3 : .25) : loss;
  });
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  ASSERT_TRUE(verdict.pairs_needed.has_value());
  EXPECT_GT(*verdict.pairs_needed, 5);
  auto options = with_ratio(1.08);
  options.seed_sd = .15;
  World leaving(options);  // a pair is only "<=", and the losses at equal budget are lower
  const Verdict shown = leaving.verdict();
  EXPECT_EQ(name(shown.outcome), "DIRECTION_ONLY") << shown.reason;
  EXPECT_NE(shown.reason.find("the losses at equal budget show the direction"), std::string::npos)
      << shown.reason;
  options.datasets = {"text1"};  // other noise: off both ends, and they are not
  const Verdict open = World(options).verdict("speed_up", "text1");
  EXPECT_EQ(name(open.outcome), "INCONCLUSIVE") << open.reason;
  EXPECT_FALSE(open.pairs_needed.has_value());
  EXPECT_NE(open.reason.find("no number of pairs"), std::string::npos) << open.reason;
}

TEST(SpeedUp, NoDifferenceIsNeverReproduced) {
  // At 95 % each, 1 in 40 worlds without effect may show the claimed direction; in these 12 fixed
  // ones, none does.
  for (int i = 0; i < 12; ++i) {
    auto options = with_ratio(1.0);
    options.datasets = {"text" + std::to_string(i)};  // other noise
    World world(options);
    const Verdict verdict = world.verdict("speed_up", options.datasets.front());
    EXPECT_NE(name(verdict.outcome), "REPRODUCED") << verdict.reason;
    EXPECT_NE(name(verdict.outcome), "DIRECTION_ONLY") << verdict.reason;
  }
}

TEST(SpeedUp, PairsOutsideTheLadderAreBoundsAndLeaveTheSizeOpen) {
  World world(with_ratio(9));  // at 1 M already below the reference's 8 M
  const Verdict verdict = world.verdict();
  EXPECT_EQ(verdict.bound, ">=");
  EXPECT_FALSE(verdict.high.has_value());
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;  // the bounds alone exceed 1.4
  // Equal bounds have no spread: a p of 0 and a smallest effect of 1.00x would be made of nothing.
  EXPECT_FALSE(verdict.p_value.has_value());
  EXPECT_FALSE(verdict.detectable.has_value());
  EXPECT_NE(verdict.reason.find("counts as a bound"), std::string::npos) << verdict.reason;
  ASSERT_EQ(verdict.facts.size(), 1u);
  EXPECT_EQ(verdict.facts[0].find("seed by seed >="), 0u) << verdict.facts[0];
}

TEST(SpeedUp, BoundsThatDoNotReachTheClaimDoNotReproduceIt) {
  testing::SyntheticOptions options = with_ratio(3.5);
  options.budgets = {1048576, 2097152, 4194304};
  World world(options);
  world.claim_value(3.4);  // only 1 M can show 3.4; the pairs give ">= something below 4" or values
  const Verdict reached = world.verdict();
  EXPECT_EQ(reached.budgets.size(), 1u);
  world.claim_value(1.9);  // 1 M and 2 M: 2 M is censored at >= 2
  const Verdict verdict = world.verdict();
  EXPECT_EQ(verdict.bound, ">=");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
}

TEST(SpeedUp, EqualBoundsAloneDoNotMakeADirection) {
  // Every pair ">= 2" has no spread at all: the direction must stand on the losses at equal budget.
  Effect effect{.values = {std::log(2.0), std::log(2.0), std::log(2.0)}, .bounded_below = 3};
  effect.finish(.05);
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
  effect.equal_budget = Interval{-.01, .2};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
  effect.equal_budget = Interval{.01, .2};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "REPRODUCED");
  EXPECT_EQ(name(decide_superiority(effect, std::log(2.5))),
            "DIRECTION_ONLY");  // the size stays open
}

// The direction is the losses' to show on either side: what makes NOT_REPRODUCED of "<= 1" when
// they are worse makes DIRECTION_ONLY of it when they are better and the bounds exclude the size.
TEST(SpeedUp, OnTheFirstRungBetterIsSeenInTheLossesAtEqualBudgetAsWell) {
  Effect effect{.values = {.02, -.05, .1, .03, 0}, .bounded_above = 2};
  effect.finish(.05);
  ASSERT_LT(effect.interval.high, std::log(1.4));
  effect.equal_budget = Interval{-.01, .04};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
  effect.equal_budget = Interval{.01, .04};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "DIRECTION_ONLY");
  effect.equal_budget = Interval{-.04, -.01};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "NOT_REPRODUCED");
  effect.equal_budget = Interval{.01, .04};  // the bounds do not exclude the size
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.05))), "INCONCLUSIVE");
  effect.bounded_below = 1;  // nor do they when both ends are open
  effect.finish(.05);
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
}

TEST(SpeedUp, BoundsOpenTheIntervalOnTheirSide) {
  Effect effect{.values = {.1, .2, .3}, .bounded_below = 1};
  effect.finish(.05);
  EXPECT_TRUE(std::isinf(effect.interval.high));
  EXPECT_EQ(effect.interval.low, effect.of_values.low);
  Effect mirrored{.values = {.1, .2, .3}, .bounded_above = 1};
  mirrored.finish(.05);
  EXPECT_TRUE(std::isinf(mirrored.interval.low));
  EXPECT_EQ(mirrored.interval.high, mirrored.of_values.high);
}

TEST(SpeedUp, OnTheFirstRungWorseIsSeenInTheLossesAtEqualBudget) {
  Effect effect{.values = {0, 0, 0, 0, 0}, .bounded_above = 5};
  effect.finish(.05);
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
  effect.equal_budget = Interval{-.2, .01};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
  effect.equal_budget = Interval{-.2, -.01};
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "NOT_REPRODUCED");
  // 3.1 M times 1.4 lies outside the ladder: only the first rung counts.
  auto options = with_ratio(.6);
  options.budgets = {1048576, 3145728};
  World world(options);
  const Verdict verdict = world.verdict();
  EXPECT_EQ(verdict.budgets, (std::vector<int64_t>{1048576}));
  EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << verdict.reason;
}

TEST(SpeedUp, OneLuckySeedOnTheFirstRungDoesNotSaveASlowerChallenger) {
  // Four seeds behind by some .02 nats give "<= 1" and no more; one ahead gives 1.017.
  Effect effect{.values = {0, 0, 0, 0, std::log(1.017)}, .bounded_above = 4};
  effect.finish(.05);
  effect.equal_budget = t_interval(std::vector{-.020, -.025, -.018, -.022, .005}, .05);
  ASSERT_LT(effect.equal_budget->high, 0);
  ASSERT_GT(effect.interval.high, 0);
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "NOT_REPRODUCED");
  // The bounds do not exclude a claim that small, and a run that never ended could be anything.
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.01))), "INCONCLUSIVE");
  effect.bounded_below = 1;
  effect.finish(.05);
  EXPECT_EQ(name(decide_superiority(effect, std::log(1.4))), "INCONCLUSIVE");
}

TEST(SpeedUp, RungsFarApartAreNamed) {
  auto options = with_ratio(1.4);
  EXPECT_TRUE(World(options).verdict().notes.empty());
  options.budgets = {1048576, 4194304};
  World world(options);
  const Verdict verdict = world.verdict();
  ASSERT_EQ(verdict.notes.size(), 1u);
  EXPECT_NE(verdict.notes.front().find("4 times apart"), std::string::npos)
      << verdict.notes.front();
}

TEST(SpeedUp, ALadderTooShortForTheClaimSaysSo) {
  World world(with_ratio(1.4));
  world.claim_value(20);
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE");
  EXPECT_NE(verdict.reason.find("cannot be measured inside the ladder"), std::string::npos)
      << verdict.reason;
}

TEST(SpeedUp, ADivergedChallengerCountsAndIsNamed) {
  World world(with_ratio(1.4));
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed == 3 && run.token_budget == 2097152)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const Verdict verdict = world.verdict();
  EXPECT_EQ(verdict.diverged.size(), 1u);
  EXPECT_EQ(verdict.pairs, 5);
  EXPECT_NE(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("1 run diverged"), std::string::npos) << verdict.reason;
}

TEST(SpeedUp, ADivergedReferenceIsNamedAndDoesNotHelpInSilence) {
  World world(with_ratio(1.0));
  for (const auto& run : world.input.runs)
    if (run.arm == "gpt_plus" && run.token_budget == 8388608)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const Verdict verdict = world.verdict();
  EXPECT_EQ(verdict.diverged.size(), 5u);
  EXPECT_NE(name(verdict.outcome), "REPRODUCED") << verdict.reason;
}

bool of_verdict(const RunRef& run, const std::string& arm) {
  return run.arm == arm && run.seed < 100;  // trials have seed 101
}

TEST(SpeedUp, AnArmThatAlwaysDivergesIsTheSlowerOne) {
  const auto diverging = [](const std::string& arm) {
    return World(with_ratio(1.0), [arm](const RunRef& run, double loss) {
      return of_verdict(run, arm) ? INFINITY : loss;
    });
  };
  const Verdict no = diverging("angpt").verdict();
  EXPECT_EQ(name(no.outcome), "NOT_REPRODUCED") << no.reason;
  EXPECT_EQ(no.bound, "<=");
  const Verdict yes = diverging("gpt_plus").verdict();
  EXPECT_EQ(name(yes.outcome), "REPRODUCED") << yes.reason;
  EXPECT_EQ(yes.bound, ">=");
  EXPECT_EQ(yes.pairs, 5);
  World both(with_ratio(1.0),
             [](const RunRef& run, double loss) { return run.seed < 100 ? INFINITY : loss; });
  const Verdict open = both.verdict();
  EXPECT_EQ(name(open.outcome), "INCONCLUSIVE") << open.reason;
  EXPECT_EQ(open.bound, "open");
}

TEST(SpeedUp, ADivergedReferenceForbidsThatTheChallengerIsSlower) {
  auto options = with_ratio(.85);
  options.seed_sd = .002;
  World slower(options);
  EXPECT_EQ(name(slower.verdict().outcome), "NOT_REPRODUCED");
  World world(options, [](const RunRef& run, double loss) {
    return of_verdict(run, "gpt_plus") && run.seed >= 4 ? INFINITY : loss;
  });
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_EQ(verdict.pairs, 5);
  EXPECT_FALSE(verdict.pairs_needed.has_value());
  EXPECT_NE(verdict.reason.find("or a run diverged"), std::string::npos) << verdict.reason;
}

TEST(SpeedUp, ADivergedRungLeavesAWiderStepWhichIsNamed) {
  World world(with_ratio(1.4), [](const RunRef& run, double loss) {
    const bool rung = of_verdict(run, "gpt_plus") && run.seed == 2 && run.token_budget == 2097152;
    return rung ? INFINITY : loss;
  });
  const Verdict verdict = world.verdict();
  const bool named = std::any_of(verdict.notes.begin(), verdict.notes.end(), [](const auto& note) {
    return note.find("4 times apart") != std::string::npos;
  });
  EXPECT_TRUE(named) << verdict.reason;
}

TEST(SpeedUp, AnEndBelowTheClaimDoesNotLookLikeIt) {
  World world(with_ratio(1.15));
  const double high = *world.verdict().high, claimed = high + 1e-4;
  world.claim_value(claimed);
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "DIRECTION_ONLY") << verdict.reason;
  const int digits = digits_apart(high, claimed, 2);
  ASSERT_GT(digits, 2);
  for (const double shown : {high, claimed})
    EXPECT_NE(verdict.reason.find(fixed(shown, digits) + "x"), std::string::npos) << verdict.reason;
}

TEST(SpeedUp, AVerdictThatHangsOnTheChordsSaysSo) {
  // Chords overstate the true 1.37 by 2.6 %, just enough to reach 1.40; the smooth curve does not.
  auto options = with_ratio(1.37);
  options.seed_sd = .001;
  World world(options);
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(verdict.smooth["statistics_say"], "DIRECTION_ONLY");
  EXPECT_NEAR(verdict.smooth["estimate"].get<double>(), 1.37, .005);
  ASSERT_FALSE(verdict.notes.empty());
  EXPECT_NE(verdict.notes.front().find("hangs on how the rungs"), std::string::npos)
      << verdict.notes.front();
}

TEST(SpeedUp, SecondsStandBesideTokens) {
  World world(with_ratio(1.4));
  const Verdict verdict = world.verdict();
  EXPECT_NEAR(verdict.seconds["time_ratio"]["estimate"].get<double>(), 1.09, 1e-9);
  EXPECT_NEAR(verdict.seconds["estimate"].get<double>(), *verdict.estimate / 1.09, 1e-9);
}

TEST(SpeedUp, FlopsStandBesideTokens) {
  World world(with_ratio(1.4));
  EXPECT_TRUE(world.verdict().detail.is_null());  // nobody said what a token costs
  // Both have 327,680 parameters; half of the reference's are idle, and nothing has attention.
  world.input.token_cost["angpt"]["gcide_1k"] = {.idle_parameters = 0};
  world.input.token_cost["gpt_plus"]["gcide_1k"] = {.idle_parameters = 163840};
  const Verdict verdict = world.verdict();
  const Json& flops = verdict.detail["flops"];
  EXPECT_EQ(flops["per_token"]["challenger"], 6 * 327680.0);
  EXPECT_EQ(flops["per_token"]["reference"], 6 * 163840.0);
  EXPECT_NEAR(flops["estimate"].get<double>(), *verdict.estimate / 2, 1e-12);
  EXPECT_NEAR(flops["low"].get<double>(), *verdict.low / 2, 1e-12);
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  const std::string text = ledger_text(ledger);
  EXPECT_NE(text.find("in FLOPs: 0.7"), std::string::npos) << text;
  EXPECT_NE(
      text.find("FLOPs of training on a token, relative to GPT+: GPT+ 1.00 (983 k), anGPT 2.00"),
      std::string::npos)
      << text;
}

TEST(SpeedUp, ReadsARatioOnly) {
  World world;
  const Json claim = {{"rule", "speed_up"},
                      {"challenger", "angpt"},
                      {"reference", "gpt_plus"},
                      {"published", "/number"}};
  world.publish(2.79, "nats");  // a loss is no factor
  EXPECT_NE(testing::claim_error(world.input, claim).find("cannot read the published unit"),
            std::string::npos);
  world.publish(1, "ratio");
  EXPECT_NE(testing::claim_error(world.input, claim).find("needs a published effect"),
            std::string::npos);
  world.publish(1.4, "ratio");
  EXPECT_EQ(testing::claim_error(world.input, claim), "");
}

TEST(SpeedUp, ThePapersEstimatorStandsBeside) {
  World world(with_ratio(1.4));
  const Verdict verdict = world.verdict();
  // Linear chords between budgets that are a factor 2 apart overstate.
  const double first = verdict.paper_estimator["per_budget"][0]["ratio"];
  EXPECT_GT(first, verdict.per_budget[0]["estimate"].get<double>());
}

}  // namespace
}  // namespace normbench
