// What the gate of a verdict and the check of a claim see beyond the verdict's word: what runs say
// that are too small for the claim, and trials that are gone.
#include <gtest/gtest.h>

#include <filesystem>

#include "suite/base/files.h"
#include "suite/judge/bless.h"
#include "suite/judge/gate.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

/// A table whose claims are all OUT_OF_SCALE, as those of the smoke tier are, blessed.
class SmallRuns : public ::testing::Test {
 protected:
  SmallRuns() {
    options.budgets = {262144, 524288, 1048576};
    options.seeds = {1, 2, 3};
    input = testing::synthetic_input(options);
    for (auto& claim : input.claims) claim["out_of_scale"] = "too small";
    testing::write_all(runs.path(), input, options);
    bless_now();
  }
  void bless_now() {
    bless(input, runs.path(), file,
          {.reason = "a test", .commit = "abc", .date = "2026-01-01", .may_diverge = {}});
  }
  CheckResult gate() const {
    return check_regression(input, runs.path(), file, "angpt", "verdict", 1);
  }
  CheckResult claim() const { return check_claim(input, runs.path(), "speed_up"); }
  void angpt_needs(double times_the_tokens) {
    options.token_ratio["angpt"] = 1 / times_the_tokens;
    testing::write_all(runs.path(), input, options);
  }
  testing::SyntheticOptions options;
  testing::TemporaryFolder runs, baselines;
  JudgeInput input;
  std::string file = baselines.path("baseline.json");
};

TEST_F(SmallRuns, ThatSayLessThanTheCommittedOnesAreRed) {
  EXPECT_TRUE(gate().green()) << gate().text;
  EXPECT_NE(gate().text.find("(of the runs alone: REPRODUCED)"), std::string::npos) << gate().text;
  angpt_needs(1.5);
  const CheckResult worse = gate();
  EXPECT_EQ(worse.color, CheckResult::Color::kRed) << worse.text;
  EXPECT_NE(worse.text.find("The runs alone say NOT_REPRODUCED"), std::string::npos) << worse.text;
  EXPECT_TRUE(claim().green()) << "a claim's check asks whether there is a verdict";
}

TEST_F(SmallRuns, AWordOfTheirsThatIsMissingIsRed) {
  Json baseline = read_json(file);
  for (auto& entry : baseline["entries"]) entry["runs_alone"].erase("speed_up");
  write_json(file, baseline);
  EXPECT_FALSE(gate().green());
  EXPECT_NE(gate().text.find("does not hold what the runs alone say"), std::string::npos)
      << gate().text;
}

TEST_F(SmallRuns, SecondsAreNotKept) {
  input.published["time"] = {{"value", 1.09}, {"unit", "ratio"}};
  input.claims.push_back({{"id", "step_time"},
                          {"statement", "slower"},
                          {"rule", "time_ratio"},
                          {"challenger", "angpt"},
                          {"reference", "gpt_plus"},
                          {"published", "/time"},
                          {"out_of_scale", "too small"}});
  bless_now();
  const Json entry = read_json(file)["entries"][options.numeric_class];
  EXPECT_EQ(entry["verdicts"]["step_time"]["gcide_1k"], "OUT_OF_SCALE");
  EXPECT_FALSE(entry["runs_alone"].contains("step_time"));
  options.step_seconds["angpt"] *= 2;
  testing::write_all(runs.path(), input, options);
  EXPECT_TRUE(gate().green()) << gate().text;
}

TEST_F(SmallRuns, WithoutATrialMakeNoBaseline) {
  std::filesystem::remove_all(runs.path(input.sweep_runs.front().run_id));
  EXPECT_THROW(bless_now(), UserError);
}

TEST_F(SmallRuns, AreComparedByTheirWordAloneWithAnEntryThatKeptNoMore) {
  Json baseline = read_json(file);
  for (auto& entry : baseline["entries"]) entry.erase("runs_alone");
  write_json(file, baseline);
  angpt_needs(1.5);
  EXPECT_TRUE(gate().green()) << gate().text;
  bless_now();
  EXPECT_TRUE(read_json(file)["entries"][options.numeric_class].contains("runs_alone"));
}

TEST_F(SmallRuns, OfAnotherClassKeepTheLowestOfTheEntries) {
  Json baseline = read_json(file);
  Json better = baseline["entries"][options.numeric_class];
  Json& lower = baseline["entries"][options.numeric_class];
  for (auto& verdict : lower["runs_alone"]) verdict["gcide_1k"] = "NOT_REPRODUCED";
  baseline["entries"]["a second class"] = better;
  write_json(file, baseline);
  options.numeric_class = "a third class";
  angpt_needs(1.5);
  EXPECT_TRUE(gate().green()) << gate().text;
  options.numeric_class = "a second class";
  testing::write_all(runs.path(), input, options);
  EXPECT_FALSE(gate().green()) << gate().text;
}

TEST_F(SmallRuns, ATrialThatIsGoneOrEditedTurnsTheClaimRed) {
  EXPECT_TRUE(claim().green()) << claim().text;
  const RunRef trial = input.sweep_runs.front();
  const std::string summary = runs.path(trial.run_id) + "/summary.json";
  Json edited = read_json(summary);
  edited["validation_loss"] = 1.0;
  write_json(summary, edited);
  const auto expect_red = [&](const std::string& text) {
    const CheckResult now = claim();
    EXPECT_EQ(now.color, CheckResult::Color::kRed) << now.text;
    EXPECT_NE(now.text.find(trial.name + " is " + text), std::string::npos) << now.text;
  };
  expect_red("damaged");
  std::filesystem::remove_all(runs.path(trial.run_id));
  expect_red("absent");
  // Rates that need no sweep need no trial either.
  for (auto& known : input.claims) known["fixed_rates"] = "as printed";
  EXPECT_TRUE(claim().green()) << claim().text;
}

}  // namespace
}  // namespace normbench
