// How claims are read, and what may stand above what the statistics of any rule say: an untuned
// arm, a missing run, a limit of the paper.
#include "suite/judge/claim.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "suite/judge/ledger.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::name;
using testing::SyntheticOptions;
using testing::with_ratio;
using testing::World;

TEST(Tuned, AnOptimumOnTheEdgeIsAnUntunedBaseline) {
  testing::SyntheticOptions options = with_ratio(1.4);
  options.best_lr = .05;
  World world(options);
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("edge"), std::string::npos) << verdict.reason;
  EXPECT_EQ(name(verdict.statistics_say),
            "REPRODUCED");  // what the runs alone would say is still shown
}

TEST(Tuned, UnequalEffortIsAnUntunedBaseline) {
  World world(with_ratio(1.4));
  std::erase_if(world.input.sweep_runs,
                [](const RunRef& run) { return run.arm == "gpt_plus" && run.peak_lr == .032; });
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED");
  EXPECT_NE(verdict.reason.find("unequal effort"), std::string::npos) << verdict.reason;
}

TEST(Tuned, ARateThatIsNotTheSweepsIsAnUntunedBaseline) {
  World world(with_ratio(1.4));
  world.input.peak_lr["gpt_plus"]["gcide_1k"][0].peak_lr = .02;
  EXPECT_EQ(name(world.verdict().outcome), "BASELINE_UNTUNED");
  EXPECT_NE(world.verdict().reason.find("not what the sweep says"), std::string::npos)
      << world.verdict().reason;
}

TEST(Tuned, ASweepOnTheVerdictsSeedsIsAnUntunedBaseline) {
  testing::SyntheticOptions options = with_ratio(1.4);
  options.seeds = {1, 2, 3, 4, 101};
  World world(options);
  EXPECT_EQ(name(world.verdict().outcome), "BASELINE_UNTUNED");
}

TEST(Tuned, AClaimAboutGivenRatesNeedsNoSweep) {
  World world(with_ratio(1.4));
  world.input.sweep_runs.clear();
  world.input.claims[0]["fixed_rates"] = "equal areas";
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(verdict.notes, std::vector<std::string>{"rates: equal areas"});
}

TEST(Tuned, NoSweepIsUntunedUnlessTheRatesHaveASource) {
  World world(with_ratio(1.4));
  world.input.sweep_runs.clear();
  EXPECT_EQ(name(world.verdict().outcome), "BASELINE_UNTUNED");
  world.input.peak_lr_source = "Figure G.1";
  EXPECT_EQ(name(world.verdict().outcome), "REPRODUCED");
}

TEST(Tuned, AGuessedRateIsUntunedWhateverItsSource) {
  World world(with_ratio(1.4));
  world.input.sweep_runs.clear();
  world.input.peak_lr_source = "Figure G.1 for GPT+, a guess for anGPT";
  world.input.untuned_arms = {"angpt"};
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED");
  EXPECT_NE(verdict.reason.find("angpt is a guess"), std::string::npos) << verdict.reason;
  world.input.untuned_arms = {"ngpt"};  // not of this claim
  EXPECT_EQ(name(world.verdict().outcome), "REPRODUCED");
}

/// Neither trials at this budget nor a rate for it.
void forget_sweep(World& world, int64_t budget) {
  std::erase_if(world.input.sweep_runs,
                [&](const RunRef& run) { return run.token_budget == budget; });
  for (auto& [arm, datasets] : world.input.peak_lr)
    for (auto& [dataset, rates] : datasets)
      std::erase_if(rates, [&](const auto& rate) { return rate.token_budget == budget; });
}

TEST(Tuned, RatesFarBeyondTheLongestSweepAreUntunedAndNearOnesAreNamed) {
  World world(with_ratio(1.4));
  forget_sweep(world, 8388608);
  const Verdict far = world.verdict();  // swept at 1 M, used up to 8 M
  EXPECT_EQ(name(far.outcome), "BASELINE_UNTUNED");
  EXPECT_NE(far.reason.find("serve 8 times the tokens"), std::string::npos) << far.reason;
  testing::SyntheticOptions twice = with_ratio(1.4);
  twice.budgets = {1048576, 2097152};
  World near(twice);
  EXPECT_TRUE(near.verdict().notes.empty());
  forget_sweep(near, 2097152);
  const Verdict verdict = near.verdict();
  EXPECT_NE(name(verdict.outcome), "BASELINE_UNTUNED") << verdict.reason;
  ASSERT_EQ(verdict.notes.size(), 2u);  // one an arm
  EXPECT_NE(verdict.notes[0].find("up to 2 times the tokens"), std::string::npos)
      << verdict.notes[0];
}

TEST(Tuned, ARateAtABudgetWithoutASweepIsNoTunedOne) {
  World world(with_ratio(1.4));
  for (auto& [arm, datasets] : world.input.peak_lr)
    for (auto& [dataset, rates] : datasets) rates.push_back({2097152, .004});
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED");
  EXPECT_NE(verdict.reason.find("at 2.10 M tokens was never swept"), std::string::npos)
      << verdict.reason;
}

TEST(Verdicts, AMissingRunIsNotRunAndIsNamed) {
  World world(with_ratio(1.4));
  std::filesystem::remove_all(world.folder.path(world.input.runs[7].run_id));
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "NOT_RUN");
  EXPECT_EQ(verdict.missing.size(), 1u);
  EXPECT_NE(verdict.reason.find(world.input.runs[7].name), std::string::npos) << verdict.reason;
  EXPECT_EQ(verdict.pairs, 4);
}

TEST(Verdicts, RunsOfSeveralNumericClassesAreNamed) {
  World world(with_ratio(1.4));
  world.input.canaries.clear();
  EXPECT_TRUE(world.verdict().notes.empty());
  auto other = world.options;
  other.numeric_class = "another class";
  testing::write_record(world.folder.path(), world.input.runs[0], other);
  const Verdict verdict = world.verdict();
  ASSERT_EQ(verdict.notes.size(), 1u);
  EXPECT_NE(verdict.notes[0].find("2 numeric classes (another class, "), std::string::npos)
      << verdict.notes[0];
}

TEST(Verdicts, ThePapersOwnLimitIsOutOfScale) {
  World world(with_ratio(1.0));
  world.input.claims[0]["out_of_scale"] = "The paper shows the gain from 0.5B parameters on.";
  EXPECT_EQ(name(world.verdict().outcome), "OUT_OF_SCALE");
  world.input.tier = "paper";
  EXPECT_NE(name(world.verdict().outcome), "OUT_OF_SCALE");
}

std::string claims_error(const std::function<void(Json&)>& edit) {
  JudgeInput input = testing::synthetic_input({});
  input.published["odd"] = {{"value", 1.4}, {"unit", 5}};
  edit(input.claims[0]);
  try {
    read_claims(input);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Verdicts, WhatTheRunsAloneSayLacksIsNotedWhereTheScaleStandsBeforeIt) {
  testing::SyntheticOptions options = with_ratio(1.4);
  options.best_lr = .05;
  World world(options);
  world.input.claims[0]["out_of_scale"] = "too small";
  const Verdict verdict = world.verdict();
  EXPECT_EQ(name(verdict.outcome), "OUT_OF_SCALE");
  ASSERT_FALSE(verdict.notes.empty());
  EXPECT_NE(verdict.notes.front().find("edge"), std::string::npos) << verdict.notes.front();
}

TEST(Verdicts, TrialsAreThoseThatRan) {
  World world(with_ratio(1.4));
  const int all = world.verdict().trials["angpt"];
  for (const auto& run : world.input.sweep_runs)
    if (run.arm == "angpt") {
      std::filesystem::remove_all(world.folder.path(run.run_id));
      break;
    }
  EXPECT_EQ(world.verdict().trials["angpt"], all - 1);
}

TEST(Claims, AreReadStrictly) {
  EXPECT_EQ(claims_error([](Json&) {}), "no error");
  EXPECT_NE(claims_error([](Json& c) { c["rule"] = "speedup"; }).find("did you mean \"speed_up\"?"),
            std::string::npos);
  EXPECT_NE(
      claims_error([](Json& c) { c["challenger"] = "angtp"; }).find("did you mean \"angpt\"?"),
      std::string::npos);
  EXPECT_NE(
      claims_error([](Json& c) { c["conditons"] = "x"; }).find("did you mean \"conditions\"?"),
      std::string::npos);
  EXPECT_NE(
      claims_error([](Json& c) { c["published"] = "/nowhere"; }).find("no such published number"),
      std::string::npos);
  EXPECT_NE(claims_error([](Json& c) { c["rule"] = "non_inferiority"; }).find("margin_nats"),
            std::string::npos);
  EXPECT_NE(claims_error([](Json& c) { c["id"] = "parity"; }).find("two claims have one id"),
            std::string::npos);
  EXPECT_NE(claims_error([](Json& c) { c["published"] = "/odd"; }).find("not a published number"),
            std::string::npos);
}

TEST(Claims, AWarningRowIsNeverJudged) {
  SyntheticOptions options = with_ratio(1.4);
  options.token_ratio["gpt_plus_literal_init"] = .8;
  const JudgeInput input = testing::synthetic_input(options);
  EXPECT_EQ(read_claims(input).size(), 2u) << "a table may hold one";
  const Json pair = {{"rule", "crossing"}, {"challenger", "angpt"}, {"reference", "gpt_plus"}};
  Json challenger = pair, reference = pair;
  challenger["challenger"] = "gpt_plus_literal_init";
  reference["reference"] = "gpt_plus_literal_init";
  const Json order = {{"rule", "ordering"}, {"arms", {"gpt_plus_literal_init", "angpt"}}};
  for (Json claim : {challenger, reference, order}) {
    for (const char* tier : {"cpu", "gpu"}) {  // also where another tier would judge it
      claim["tiers"] = Json::array({tier});
      const std::string error = testing::claim_error(input, claim);
      EXPECT_NE(error.find("claim here is about a warning row"), std::string::npos) << error;
      EXPECT_NE(error.find("convergence.json, at /claims/0"), std::string::npos) << error;
      EXPECT_NE(error.find("\"gpt_plus_literal_init\""), std::string::npos) << error;
    }
  }
}

TEST(Claims, AKeyThatNothingUsesIsUnknown) {
  EXPECT_NE(claims_error([](Json& c) {
              c["scale"] = {{"tokens", 1e9}};
            }).find("unknown key"),
            std::string::npos);
}

TEST(Claims, AnIdIsAWordThatCTestAndTheCommandLineCanRead) {
  for (const char* id : {"1.4b_vs_qk", "angpt_speed_up_0.5b", "A-b"})
    EXPECT_EQ(claims_error([&](Json& c) { c["id"] = id; }), "no error") << id;
  for (const char* id : {"", "off)", "a b", "a.b/../c", "..", "-x", "a\"b", "a;b", "\xc3\xa4"})
    EXPECT_NE(claims_error([&](Json& c) { c["id"] = id; }).find("not the id of a claim"),
              std::string::npos)
        << id;
}

TEST(Claims, AClaimOfOtherTiersIsNotJudged) {
  JudgeInput input = testing::synthetic_input({});
  input.claims[0]["tiers"] = {"gpu", "paper"};
  EXPECT_EQ(read_claims(input).size(), 1u);
}

TEST(CheckClaim, IsGreenForAnyVerdictAndRedForABadRecord) {
  World world(with_ratio(.7));
  EXPECT_TRUE(check_claim(world.input, world.folder.path(), "speed_up").green());
  std::filesystem::remove_all(world.folder.path(world.input.runs[3].run_id));
  EXPECT_EQ(check_claim(world.input, world.folder.path(), "speed_up").color,
            CheckResult::Color::kRed);
  for (const auto& run : world.input.runs)
    std::filesystem::remove_all(world.folder.path(run.run_id));
  EXPECT_EQ(check_claim(world.input, world.folder.path(), "speed_up").color,
            CheckResult::Color::kNotRun);
  EXPECT_THROW(check_claim(world.input, world.folder.path(), "sped_up"), UserError);
}

}  // namespace
}  // namespace normbench
