// Rules about final losses of several arms (ordering, gap_growth) and about runs that must break
// (divergence_expected), on invented records whose truth is known.
#include <gtest/gtest.h>

#include <cmath>

#include "suite/judge/bless.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::RecordEdit;
using testing::SyntheticOptions;
using testing::World;

SyntheticOptions three_arms() {
  SyntheticOptions options;
  options.token_ratio = {{"gpt_plus", 1.0}, {"ngpt", 1.25}, {"angpt", 1.6}};
  return options;
}

Json order(const std::vector<std::string>& arms) { return {{"rule", "ordering"}, {"arms", arms}}; }

bool of_sweep(const RunRef& run) { return run.seed == 101; }

TEST(Ordering, TheTrueOrderIsReproduced) {
  World world(three_arms());
  const Verdict verdict = world.judge(order({"gpt_plus", "ngpt", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  // At 8.39 M: 1.7 + 690 (ratio D)^-.42 = 2.5540, 2.4776, 2.4010: the smaller gap is .0764.
  EXPECT_NEAR(*verdict.estimate, .0764, .02);  // 4 standard errors of 5 pairs at sd .008 each
  EXPECT_EQ(verdict.detail["gaps"].size(), 2u);
  ASSERT_EQ(verdict.facts.size(), 2u);
  EXPECT_NE(verdict.facts[0].find("; seed by seed 0.0"), std::string::npos) << verdict.facts[0];
  EXPECT_EQ(verdict.per_budget.size(), 4u);
  EXPECT_EQ(verdict.budgets, (std::vector<int64_t>{8388608}));
}

TEST(Ordering, AWrongOrderIsNotReproduced) {
  World world(three_arms());
  const Verdict verdict = world.judge(order({"ngpt", "gpt_plus", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("nGPT above GPT+ by -0.0"), std::string::npos) << verdict.reason;
}

TEST(Ordering, AnOpenMiddleIsDirectionOnly) {
  auto options = three_arms();
  options.token_ratio["ngpt"] = 1.0;
  World world(options);
  const Verdict verdict = world.judge(order({"gpt_plus", "ngpt", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "DIRECTION_ONLY") << verdict.reason;
  EXPECT_GT(verdict.pairs_needed.value_or(0), 5);
}

TEST(Ordering, EqualArmsAreNeverInOrder) {
  // At 95 % each, 1 in 20 worlds without effect shows ends or a reversed gap: .6 of 12 on average,
  // more than 2 in 1 of 50 choices of 12.
  int wrong = 0;
  for (int i = 0; i < 12; ++i) {
    auto options = three_arms();
    options.token_ratio = {{"gpt_plus", 1.0}, {"ngpt", 1.0}, {"angpt", 1.0}};
    options.budgets = {262144, 524288};
    options.datasets = {"text" + std::to_string(i)};  // other noise
    World world(options);
    const Verdict verdict =
        world.judge(order({"gpt_plus", "ngpt", "angpt"}), options.datasets.front());
    EXPECT_NE(name(verdict.outcome), "REPRODUCED") << verdict.reason;
    wrong += name(verdict.outcome) != "INCONCLUSIVE";
  }
  EXPECT_LE(wrong, 2);
}

// Mean .1, s .0756: told from 0 at 95 %, and not at the alpha that two gaps share.
constexpr double kWorseBy[] = {.19, .02, .17, .05, .07};

SyntheticOptions without_noise() {
  SyntheticOptions options;
  options.token_ratio = {{"gpt_plus", 1.0}, {"ngpt", 1.0}, {"angpt", 1.0}};
  options.seed_sd = 0;
  return options;
}

TEST(Ordering, AnIntervalThatOnlyTheSharedAlphaKeepsOpenIsShownWithIt) {
  World world(without_noise(), [](const RunRef& run, double loss) {
    if (of_sweep(run) || run.arm == "gpt_plus") return loss;
    return loss - .1 + (run.arm == "angpt" ? kWorseBy[run.seed - 1] : 0);
  });
  const Verdict verdict = world.judge(order({"gpt_plus", "ngpt", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_NE(verdict.reason.find("-0.006), which with alpha shared by 2 is -0.218 .. 0.018"),
            std::string::npos)
      << verdict.reason;
  EXPECT_EQ(verdict.p_value, 1);  // a gap is on the wrong side
}

TEST(Ordering, ANotReproducedThatHolmWouldNotLetStandSaysSo) {
  World world(without_noise(), [](const RunRef& run, double loss) {
    return of_sweep(run) || run.arm != "angpt" ? loss : loss + kWorseBy[run.seed - 1];
  });
  Json claim = order({"gpt_plus", "angpt"});
  claim["statement"] = "here";
  const auto stands_alone = [&](int claims) {
    world.input.claims = Json::array();
    for (int i = 0; i < claims; ++i) {
      claim["id"] = "claim_" + std::to_string(i);
      world.input.claims.push_back(claim);
    }
    const Json first = judge_table(world.input, world.folder.path(), "")["claims"][0];
    EXPECT_EQ(first["verdict"], "NOT_REPRODUCED");
    return first["alone_only"].get<bool>();
  };
  EXPECT_FALSE(stands_alone(1));  // p .041
  EXPECT_TRUE(stands_alone(2));
}

TEST(Ordering, AnArmThatAlwaysDivergesIsTheWorst) {
  World world(three_arms(), [](const RunRef& run, double loss) {
    return run.arm == "gpt_plus" && !of_sweep(run) ? INFINITY : loss;
  });
  EXPECT_EQ(name(world.judge(order({"gpt_plus", "ngpt", "angpt"})).outcome), "REPRODUCED");
  EXPECT_EQ(name(world.judge(order({"ngpt", "gpt_plus", "angpt"})).outcome), "NOT_REPRODUCED");
}

TEST(Ordering, ADivergedRunLeavesNoPAndNoSmallestEffect) {
  World world(three_arms());
  const Json claim = order({"gpt_plus", "ngpt", "angpt"});
  EXPECT_TRUE(world.judge(claim).p_value.has_value());
  for (const auto& run : world.input.runs)
    if (run.arm == "gpt_plus" && run.seed == 1 && run.token_budget == 8388608)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const Verdict verdict = world.judge(claim);
  EXPECT_EQ(verdict.diverged.size(), 1u);
  EXPECT_FALSE(verdict.p_value.has_value());
  EXPECT_FALSE(verdict.detectable.has_value());
}

TEST(Ordering, AGapThatDivergedRunsOpenIsSettledByNoNumberOfPairs) {
  // gpt_plus and ngpt are level; of angpt, claimed to be best, one run of five ended.
  auto options = three_arms();
  options.token_ratio["ngpt"] = 1.02;
  World world(options, [](const RunRef& run, double loss) {
    return run.arm == "angpt" && !of_sweep(run) && run.seed != 3 ? INFINITY : loss;
  });
  const Verdict verdict = world.judge(order({"gpt_plus", "ngpt", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_FALSE(verdict.pairs_needed.has_value()) << verdict.reason;
}

TEST(Ordering, AMissingRunOfAMiddleArmIsNamed) {
  World world(three_arms());
  for (const auto& run : world.input.runs)
    if (run.arm == "ngpt" && run.seed == 2)
      std::filesystem::remove_all(world.folder.path(run.run_id));
  const Verdict verdict = world.judge(order({"gpt_plus", "ngpt", "angpt"}));
  EXPECT_EQ(name(verdict.outcome), "NOT_RUN");
  EXPECT_NE(verdict.reason.find("4 of 60 runs"), std::string::npos) << verdict.reason;
}

TEST(Ordering, IsReadStrictly) {
  const JudgeInput input = testing::synthetic_input(three_arms());
  EXPECT_EQ(claim_error(input, order({"gpt_plus", "angpt"})), "");
  EXPECT_NE(claim_error(input, order({"gpt_plus"})).find("less than two"), std::string::npos);
  EXPECT_NE(claim_error(input, order({"ngtp", "angpt"})).find("did you mean \"ngpt\"?"),
            std::string::npos);
  EXPECT_NE(claim_error(input, order({"ngpt", "ngpt"})).find("stands twice"), std::string::npos);
  Json with_pair = order({"gpt_plus", "angpt"});
  with_pair["challenger"] = "angpt";
  EXPECT_NE(claim_error(input, with_pair).find("challenger"), std::string::npos);
}

Json growth(const std::string& of) {
  return {{"rule", "gap_growth"}, {"challenger", "angpt"}, {"reference", "gpt_plus"}, {"of", of}};
}

// The lead of angpt at every budget, from the first to the last.
World world_with_leads(std::map<int64_t, double> leads) {
  return World(SyntheticOptions(), [leads](const RunRef& run, double loss) {
    if (of_sweep(run)) return loss;
    SyntheticOptions equal;
    equal.token_ratio["angpt"] = 1;
    const double base = testing::synthetic_loss(equal, run);
    return run.arm == "angpt" ? base - leads.at(run.token_budget) : base;
  });
}

TEST(GapGrowth, ALeadThatGrowsIsReproducedAndOneThatShrinksIsNot) {
  World grows = world_with_leads({{1048576, .02}, {2097152, .05}, {4194304, .09}, {8388608, .12}});
  const Verdict verdict = grows.judge(growth("validation"));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NEAR(*verdict.estimate, .10, .03);  // 4 runs of sd .008 a pair, 5 pairs, 4 errors
  EXPECT_EQ(verdict.per_budget.size(), 4u);
  EXPECT_FALSE(verdict.per_budget[1]["counts"]);
  World shrinks = world_with_leads({{1048576, .12}, {2097152, .1}, {4194304, .05}, {8388608, .0}});
  EXPECT_EQ(name(shrinks.judge(growth("validation")).outcome), "NOT_REPRODUCED");
  World stays = world_with_leads({{1048576, .1}, {2097152, .1}, {4194304, .1}, {8388608, .1}});
  EXPECT_EQ(name(stays.judge(growth("validation")).outcome), "INCONCLUSIVE");
}

TEST(GapGrowth, AnIntervalThatOnlyTheSharedAlphaKeepsOpenIsShownWithIt) {
  World world(without_noise(), [](const RunRef& run, double loss) {
    if (of_sweep(run) || run.arm != "angpt") return loss;
    return loss - .3 + (run.token_budget == 8388608 ? kWorseBy[run.seed - 1] : 0);
  });
  const Verdict verdict = world.judge(growth("validation"));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_NE(verdict.reason.find("-0.006), which with alpha shared by 2 is -0.218 .. 0.018, to 0.2"),
            std::string::npos)
      << verdict.reason;
}

TEST(GapGrowth, ALeadMustBeThereToGrow) {
  // The gap grows by .15 nats and is still negative at the end: the challenger only falls behind
  // less.
  World behind =
      world_with_leads({{1048576, -.2}, {2097152, -.15}, {4194304, -.1}, {8388608, -.05}});
  const Verdict no = behind.judge(growth("validation"));
  EXPECT_EQ(name(no.outcome), "NOT_REPRODUCED") << no.reason;
  EXPECT_NE(no.reason.find("behind to the end"), std::string::npos) << no.reason;
  // Level at the end, but for noise: it grew, and nobody leads.
  World level =
      world_with_leads({{1048576, -.2}, {2097152, -.15}, {4194304, -.1}, {8388608, -.004}});
  const Verdict open = level.judge(growth("validation"));
  EXPECT_EQ(name(open.outcome), "INCONCLUSIVE") << open.reason;
  EXPECT_GT(open.pairs_needed.value_or(0), 5);
}

TEST(GapGrowth, APublishedGrowthMustBeReached) {
  World world = world_with_leads({{1048576, .02}, {2097152, .05}, {4194304, .09}, {8388608, .12}});
  Json claim = growth("validation");
  claim["published"] = "/number";
  world.publish(.09, "nats");
  EXPECT_EQ(name(world.judge(claim).outcome), "REPRODUCED");
  world.publish(.5, "nats");
  EXPECT_EQ(name(world.judge(claim).outcome), "DIRECTION_ONLY");
  World stays = world_with_leads({{1048576, .1}, {2097152, .1}, {4194304, .1}, {8388608, .1}});
  stays.publish(.5, "nats");
  const Verdict open = stays.judge(claim);
  EXPECT_EQ(name(open.outcome), "INCONCLUSIVE");
  EXPECT_NE(open.reason.find("though the paper's 0.500 is excluded"), std::string::npos)
      << open.reason;
}

TEST(GapGrowth, ADivergedChallengerAtTheEndForbidsIt) {
  World world = world_with_leads({{1048576, .02}, {2097152, .05}, {4194304, .09}, {8388608, .12}});
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed == 1 && run.token_budget == 8388608)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const Verdict verdict = world.judge(growth("validation"));
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_EQ(verdict.pairs, 4);
  EXPECT_FALSE(verdict.p_value.has_value());
  EXPECT_FALSE(verdict.detectable.has_value());
}

TEST(GapGrowth, AChallengerThatDivergedAtFirstIsSaidToHaveDivergedThere) {
  World world(SyntheticOptions(), [](const RunRef& run, double loss) {
    return run.arm == "angpt" && !of_sweep(run) && run.token_budget == 1048576 ? INFINITY : loss;
  });
  const Verdict verdict = world.judge(growth("validation"));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("At the first or at the last place"), std::string::npos)
      << verdict.reason;
  EXPECT_NE(verdict.reason.find("at the end the lead is 0."), std::string::npos) << verdict.reason;
}

// Replaces the training loss of the longest runs: angpt is `at_end` below at the end, and at step i
// of n below by that times (i / n)^power.
void write_train_leads(World& world, double at_end, double power, int64_t budget = 8388608) {
  for (const auto& run : world.input.runs) {
    if (run.token_budget != budget) continue;
    testing::write_record(
        world.folder.path(), run, world.options, {.lines = [&](std::vector<std::string>& lines) {
          for (size_t i = 0; i < lines.size(); ++i) {
            Json line = Json::parse(lines[i]);
            const double share = static_cast<double>(i + 1) / static_cast<double>(lines.size());
            line["loss"] = 4 - share + .001 * static_cast<double>(run.seed) -
                           (run.arm == "angpt" ? (at_end + .001 * static_cast<double>(run.seed)) *
                                                     std::pow(share, power)
                                               : 0);
            lines[i] = canonical(line);
          }
        }});
  }
}

TEST(GapGrowth, OfTrainingLossInsideTheLongestRun) {
  World world;
  write_train_leads(world, .3, 1);
  const Verdict verdict = world.judge(growth("train"));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  // 128 steps, windows of 6 that end at 42 and 128: .303 (125.5 - 39.5) / 128 for the mean seed 3.
  EXPECT_NEAR(*verdict.estimate, .303 * 86 / 128, 1e-9);
  EXPECT_EQ(verdict.per_budget.size(), 3u);
  write_train_leads(world, -.3, 1);
  EXPECT_EQ(name(world.judge(growth("train")).outcome), "NOT_REPRODUCED");
}

TEST(GapGrowth, OfTrainingLossWhereTheLaddersDiffer) {
  // The longest budget of angpt is not that of the pair: its runs at the shared one keep their
  // steps.
  World world;
  std::erase_if(world.input.runs, [](const RunRef& run) {
    return run.arm == "gpt_plus" && run.token_budget == 8388608;
  });
  write_train_leads(world, .3, 1, 4194304);
  const Verdict verdict = world.judge(growth("train"));
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  // 64 steps, windows of 5 that end at 21 and 64.
  EXPECT_NEAR(*verdict.estimate, .303 * 43 / 64, 1e-9);
}

TEST(GapGrowth, IsReadStrictly) {
  const JudgeInput input = testing::synthetic_input({});
  EXPECT_EQ(claim_error(input, growth("train")), "");
  EXPECT_NE(claim_error(input, growth("test")).find("unknown of"), std::string::npos);
  Json claim = growth("train");
  claim["published"] = "/speed_up";
  EXPECT_NE(claim_error(input, claim).find("cannot read the published unit"), std::string::npos);
}

Json breaks() { return {{"rule", "divergence_expected"}, {"challenger", "angpt"}}; }

TEST(DivergenceExpected, AllSomeOrNone) {
  World all({}, [](const RunRef& run, double loss) {
    return run.arm == "angpt" && !of_sweep(run) ? INFINITY : loss;
  });
  const Verdict verdict = all.judge(breaks());
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(*verdict.estimate, 100);
  EXPECT_NEAR(*verdict.low, 47.82, .01);  // Clopper and Pearson: 100 (.025)^(1/5)
  EXPECT_EQ(*verdict.high, 100);
  EXPECT_EQ(verdict.diverged.size(), 20u);
  World some({}, [](const RunRef& run, double loss) {
    return run.arm == "angpt" && run.seed == 2 ? INFINITY : loss;
  });
  EXPECT_EQ(name(some.judge(breaks()).outcome), "DIRECTION_ONLY");
  World none;
  const Verdict no = none.judge(breaks());
  EXPECT_EQ(name(no.outcome), "NOT_REPRODUCED") << no.reason;
  EXPECT_NEAR(*no.high, 52.18, .01);  // 100 (1 - .025^(1/5))
}

TEST(DivergenceExpected, IsBlessedWithoutBeingAskedFor) {
  World world({}, [](const RunRef& run, double loss) {
    return run.arm == "angpt" && !of_sweep(run) ? INFINITY : loss;
  });
  const auto write = [&] {
    return bless(world.input, world.folder.path(), world.folder.path("baseline.json"),
                 {.reason = "first", .commit = "abc", .date = "2026-01-01", .may_diverge = {}});
  };
  EXPECT_THROW(write(), UserError);  // no claim expects it yet
  world.judge(breaks());
  EXPECT_NO_THROW(write());
}

TEST(DivergenceExpected, ALossAboveTheLimitCountsAsBroken) {
  World world({}, [](const RunRef& run, double loss) {
    return run.arm == "angpt" && !of_sweep(run) ? loss + 4 : loss;
  });
  Json claim = breaks();
  EXPECT_EQ(name(world.judge(claim).outcome), "NOT_REPRODUCED");
  claim["loss_above"] = 5.5;
  EXPECT_EQ(name(world.judge(claim).outcome), "REPRODUCED");
  claim["loss_above"] = 20;
  EXPECT_EQ(name(world.judge(claim).outcome), "NOT_REPRODUCED");
}

TEST(DivergenceExpected, OneSeedDoesNotDecideAndTuningDoesNotApply) {
  SyntheticOptions options;
  options.seeds = {1};
  World world(options);
  EXPECT_EQ(name(world.judge(breaks()).outcome), "INCONCLUSIVE");
  World untuned;
  untuned.input.sweep_runs.clear();
  EXPECT_EQ(name(untuned.judge(breaks()).outcome), "NOT_REPRODUCED");
}

TEST(DivergenceExpected, IsReadStrictlyAndShown) {
  JudgeInput input = testing::synthetic_input({});
  EXPECT_EQ(claim_error(input, breaks()), "");
  Json claim = breaks();
  claim["loss_above"] = -1;
  EXPECT_NE(claim_error(input, claim).find("loss_above"), std::string::npos);
  claim = breaks();
  claim["reference"] = "gpt_plus";
  EXPECT_NE(claim_error(input, claim).find("reference"), std::string::npos);
  World world;
  world.judge(breaks());
  const std::string text = ledger_text(judge_table(world.input, world.folder.path(), ""));
  EXPECT_NE(text.find("diverges"), std::string::npos) << text;
}

}  // namespace
}  // namespace normbench
