#include "suite/judge/token_ratio.h"

#include <gtest/gtest.h>

#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::World;

// angpt needs 1 / 1.4 of gpt_plus's tokens, and 1.09 times its time for each.
World fast_world() {
  testing::SyntheticOptions options;
  options.token_ratio["angpt"] = 1.4;
  return World(options);
}

Json rows_of(const World& world, const std::string& yardstick) {
  return equal_loss_json(Evidence::load(world.input, world.folder.path()), yardstick);
}

TEST(EqualLoss, ShowsTheRatioInTokensAndSecondsAtEveryBudget) {
  World world = fast_world();
  const Json rows = rows_of(world, "gpt_plus");
  ASSERT_EQ(rows.size(), 4u);  // one arm, four budgets
  const Json &first = rows[0], &last = rows[3];
  EXPECT_EQ(first["n"], 5);
  EXPECT_NEAR(first["tokens"]["estimate"].get<double>(), 1.4, .06);  // as in rule_speed_up_test.cpp
  EXPECT_NEAR(first["seconds"]["estimate"].get<double>(),
              first["tokens"]["estimate"].get<double>() / 1.09, 1e-9);
  EXPECT_TRUE(first["flops"].is_null());  // nobody said what a token costs
  // 1.4 times the last budget lies beyond the yardstick's ladder.
  EXPECT_EQ(last["tokens"]["bound"], ">=");
  EXPECT_FALSE(first["at_last_rung"]);
  EXPECT_TRUE(last["at_last_rung"]);
  EXPECT_TRUE(last["tokens"]["high"].is_null());
}

TEST(EqualLoss, TheOtherArmAsYardstickGivesTheInverse) {
  World world = fast_world();
  const Json rows = rows_of(world, "angpt");
  EXPECT_EQ(rows[0]["tokens"]["bound"], "<=");
  EXPECT_NEAR(rows[2]["tokens"]["estimate"].get<double>(), 1 / 1.4, .06);
}

TEST(EqualLoss, ALadderOfOneRungOrAMissingRunShowsNothing) {
  World world = fast_world();
  for (const auto& run : world.input.runs)
    if (run.arm == "gpt_plus" && run.token_budget == 2097152)
      std::filesystem::remove_all(world.folder.path(run.run_id));
  EXPECT_TRUE(rows_of(world, "gpt_plus").empty());
  testing::SyntheticOptions one;
  one.budgets = {1048576};
  EXPECT_TRUE(rows_of(World(one), "gpt_plus").empty());
}

TEST(EqualLoss, StandsInTheLedgerOfATableWithAYardstick) {
  World world = fast_world();
  EXPECT_FALSE(judge_table(world.input, world.folder.path(), "").contains("equal_loss"));
  world.input.yardstick = "gpt_plus";
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  EXPECT_EQ(ledger["equal_loss"]["rows"].size(), 4u);
  const std::string text = ledger_text(ledger);
  EXPECT_NE(text.find("EQUAL LOSS"), std::string::npos);
  EXPECT_NE(text.find("in seconds"), std::string::npos) << text;
  EXPECT_NE(text.find("*: the ladder of GPT+ ends there"), std::string::npos) << text;
  EXPECT_NE(report_page({ledger}, "").find("*: the ladder of GPT+ ends there"), std::string::npos);
  EXPECT_EQ(text.find("times apart"), std::string::npos) << text;
}

TEST(EqualLoss, AWideLadderSaysWhatItsChordsDo) {
  testing::SyntheticOptions options = testing::with_ratio(1.4);
  options.budgets = {1048576, 4194304};
  World world(options);
  world.input.yardstick = "gpt_plus";
  const std::string text = ledger_text(judge_table(world.input, world.folder.path(), ""));
  EXPECT_NE(text.find("4 times apart: chords between them overstate a ratio by up to 11 %"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace normbench
