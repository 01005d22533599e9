// Rule non_inferiority on invented records whose truth is known.
#include <gtest/gtest.h>

#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/ledger.h"
#include "suite/judge/ledger_words.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::name;
using testing::with_ratio;
using testing::World;

// Every run of these arm and seeds diverges.
void diverge(World& world, const std::string& arm, int64_t up_to_seed) {
  for (const auto& run : world.input.runs)
    if (run.arm == arm && run.seed <= up_to_seed)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
}

TEST(NonInferiority, EqualArmsPassAWideMargin) {
  World world(with_ratio(1.0));
  world.input.claims[1]["margin_nats"] = .05;
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
}

TEST(NonInferiority, AWorseArmFails) {
  World world(with_ratio(.7));
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << verdict.reason;
}

TEST(NonInferiority, NoiseAboveTheMarginIsInconclusiveAndSaysHowManyPairs) {
  auto options = with_ratio(1.0);
  options.seed_sd = .1;
  World world(options);
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_GT(verdict.pairs_needed.value_or(0), 100);
}

TEST(NonInferiority, OneDivergedChallengerIsEnoughToDeny) {
  World world(with_ratio(1.4));
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed == 3 && run.token_budget == 2097152)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE");
  EXPECT_FALSE(verdict.detectable.has_value());  // it would be that of the others alone
  EXPECT_FALSE(verdict.pairs_needed.has_value());
}

TEST(NonInferiority, ThePairsNeededAreThoseOfTheNoisiestBudget) {
  // Far more noise at 2.1 M than at 8.4 M, where one arm is behind: which of the two budgets is
  // shown hangs on the direction of the claim, the pairs do not.
  World world(with_ratio(1.0), [](const RunRef& run, double loss) {
    if (run.arm != "angpt" || run.seed == 101) return loss;
    if (run.token_budget == 2097152) return loss + (run.seed % 2 == 0 ? .06 : -.05);
    return run.token_budget == 8388608 && run.seed % 2 == 0 ? loss + .045 : loss;
  });
  const Verdict there = world.verdict("parity");
  std::swap(world.input.claims[1]["challenger"], world.input.claims[1]["reference"]);
  const Verdict back = world.verdict("parity");
  EXPECT_EQ(name(there.outcome), "INCONCLUSIVE") << there.reason;
  EXPECT_EQ(name(back.outcome), "INCONCLUSIVE") << back.reason;
  EXPECT_GT(there.pairs_needed.value_or(0), 5);
  EXPECT_EQ(there.pairs_needed, back.pairs_needed);
}

TEST(NonInferiority, ADivergedReferenceExcludesNothing) {
  World world(with_ratio(.7));
  EXPECT_EQ(name(world.verdict("parity").outcome), "NOT_REPRODUCED");
  diverge(world, "gpt_plus", 2);
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_FALSE(verdict.low.has_value());
  EXPECT_FALSE(verdict.p_value.has_value());
}

TEST(NonInferiority, AllRunsOfAnArmDecideFromTwoOn) {
  for (const int64_t seeds : {1, 2}) {
    auto options = with_ratio(1.4);
    options.seeds = {1};
    if (seeds == 2) options.seeds.push_back(2);
    World world(options);
    diverge(world, "angpt", 2);
    const Verdict verdict = world.verdict("parity");
    EXPECT_EQ(name(verdict.outcome), seeds == 2 ? "NOT_REPRODUCED" : "INCONCLUSIVE")
        << verdict.reason;
  }
  World better(with_ratio(.7));
  diverge(better, "gpt_plus", 5);
  EXPECT_EQ(name(better.verdict("parity").outcome), "REPRODUCED");
}

TEST(NonInferiority, TheBudgetThatDecidesIsTheOneShown) {
  // Worse by .1 at 2.1 M; at 8.4 M equal on the average, with noise that reaches farther up.
  World world(with_ratio(1.0), [](const RunRef& run, double loss) {
    if (run.arm != "angpt" || run.seed == 101) return loss;
    if (run.token_budget == 2097152) return loss + .1;
    if (run.token_budget == 8388608) return loss + (run.seed % 2 == 0 ? .9 : -.6);
    return loss;
  });
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("at 2.10 M tokens"), std::string::npos) << verdict.reason;
  EXPECT_GT(*verdict.low, .02);
}

TEST(NonInferiority, ItsPIsThatOfBeingWorseByTheMargin) {
  World world(with_ratio(1.0));
  const auto p_at = [&](double margin) {
    world.input.claims[1]["margin_nats"] = margin;
    return *world.verdict("parity").p_value;
  };
  EXPECT_LT(p_at(.05), .05);
  EXPECT_GT(p_at(.001), .05);
  world.input.claims[1]["margin_nats"] = .05;
  const std::string text = ledger_text(judge_table(world.input, world.folder.path(), ""));
  EXPECT_NE(text.find("margin 0.050"), std::string::npos) << text;
  EXPECT_NE(text.find("p of worse by the margin"), std::string::npos) << text;
}

// Worse at both budgets by what the 95 % interval tells from the margin and the shared alpha does
// not.
TEST(NonInferiority, AnIntervalAboveTheMarginIsNotSaidToHoldIt) {
  const double worse[] = {.20, .03, .18, .06, .08};
  World world(with_ratio(1.0), [&](const RunRef& run, double loss) {
    return run.arm == "angpt" && run.seed <= 5 ? loss + worse[run.seed - 1] : loss;
  });
  world.input.claims[1]["margin_nats"] = .002;
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_NE(verdict.reason.find("The interval lies above the margin"), std::string::npos)
      << verdict.reason;
  EXPECT_EQ(verdict.reason.find("if the arms are equal"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("as large as measured"), std::string::npos) << verdict.reason;
}

TEST(NonInferiority, WhatIsBetterIsNotCalledWorse) {
  World better(with_ratio(1.4));
  const std::string reason = better.verdict("parity").reason;
  EXPECT_NE(reason.find("tokens it is better by 0."), std::string::npos) << reason;
  EXPECT_NE(reason.find("where above 0 is worse"), std::string::npos) << reason;
  World worse(with_ratio(.7));
  EXPECT_NE(worse.verdict("parity").reason.find("tokens it is worse by 0."), std::string::npos);
}

TEST(NonInferiority, AnEndThatKeepsTheMarginDoesNotLookLikeIt) {
  World world(with_ratio(1.0));
  const double high = *world.verdict("parity").high;
  const double margin = (high + std::stod(fixed(high, 3)) + .0005) / 2;
  ASSERT_GT(margin, high);
  ASSERT_EQ(fixed(margin, 3), fixed(high, 3));
  world.input.claims[1]["margin_nats"] = margin;
  const int digits = digits_apart(high, margin, 3);
  const std::string shown_margin = fixed(margin, digits), shown_end = ".. " + fixed(high, digits);
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("the margin of " + shown_margin + ";"), std::string::npos)
      << verdict.reason;
  EXPECT_NE(verdict.reason.find(shown_end), std::string::npos) << verdict.reason;
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  const std::string text = ledger_text(ledger), page = report_page({ledger}, "");
  EXPECT_NE(text.find(shown_end + " "), std::string::npos) << text;  // the row
  EXPECT_NE(page.find(shown_end + "<"), std::string::npos) << page;
  for (const std::string& shown : {text, page})
    EXPECT_NE(shown.find("margin " + shown_margin), std::string::npos) << shown;
  const auto facts = verdict_facts(ledger, ledger.at("claims").at(1));
  EXPECT_NE(facts.at(0).find(shown_end + ")"), std::string::npos) << facts.at(0);  // by budget
}

TEST(NonInferiority, NoNumberOfPairsIsNamedWhereNoneWouldHelp) {
  World world(with_ratio(1.4));
  diverge(world, "angpt", 1);
  const Verdict verdict = world.verdict("parity");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_FALSE(verdict.pairs_needed.has_value());
}

TEST(Ledger, AVerdictThatHolmWouldNotLetStandSaysSo) {
  auto options = with_ratio(1.0);
  options.seed_sd = 0;
  // .11 nats with sd .069 in 5 pairs: p = .023 alone.
  World world(options, [](const RunRef& run, double loss) {
    const double gains[] = {.02, .08, .10, .15, .20};
    return run.arm == "angpt" && run.seed != 101 ? loss - gains[run.seed - 1] : loss;
  });
  world.publish(-.1, "nats");
  Json claim = {{"rule", "loss_difference"},
                {"challenger", "angpt"},
                {"reference", "gpt_plus"},
                {"published", "/number"}};
  const auto notes_of = [&](size_t copies, const std::string& expected) {
    world.input.claims = Json::array();
    for (size_t i = 0; i < copies; ++i) {
      claim["id"] = claim["statement"] = "c" + std::to_string(i);
      world.input.claims.push_back(claim);
    }
    const Json verdict = judge_table(world.input, world.folder.path(), "")["claims"][0];
    EXPECT_EQ(verdict["verdict"], expected) << verdict["reason"];
    return verdict["notes"].dump();
  };
  EXPECT_EQ(notes_of(1, "REPRODUCED").find("Holm"), std::string::npos);
  EXPECT_NE(notes_of(3, "REPRODUCED").find("Holm"), std::string::npos);
  std::swap(claim["challenger"], claim["reference"]);
  EXPECT_EQ(notes_of(1, "NOT_REPRODUCED").find("Holm"), std::string::npos);
  EXPECT_NE(notes_of(3, "NOT_REPRODUCED").find("Holm"), std::string::npos);
}

}  // namespace
}  // namespace normbench
