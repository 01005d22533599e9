#include "suite/judge/report.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "suite/judge/ledger.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

Json small_ledger() {
  testing::SyntheticOptions options;
  options.budgets = {262144, 524288};
  options.seeds = {1, 2};
  JudgeInput input = testing::synthetic_input(options);
  input.title = "losses <below> & \"above\"";
  testing::TemporaryFolder runs;
  testing::write_all(runs.path(), input, options);
  return judge_table(input, runs.path(), "");
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Report, HoldsEveryVerdictAndEscapesText) {
  const Json ledger = small_ledger();
  const std::string page = report_page({ledger, ledger}, "");
  EXPECT_EQ(count(page, "<article"), 2 * 2u);
  for (const auto& verdict : ledger.at("claims"))
    EXPECT_NE(page.find(" " + verdict.at("verdict").get<std::string>() + "</span>"),
              std::string::npos);
  EXPECT_NE(page.find("losses &lt;below&gt; &amp; &quot;above&quot;"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
}

TEST(Report, SaysWhatItsWordsMeanByItself) {
  const std::string page = report_page({small_ledger()}, "");
  for (const char* verdict : {"REPRODUCED", "DIRECTION_ONLY", "NOT_REPRODUCED", "INCONCLUSIVE",
                              "BASELINE_UNTUNED", "OUT_OF_SCALE", "MACHINE_UNFIT", "NOT_RUN"})
    EXPECT_EQ(count(page, std::string(">") + verdict + "</b></dt><dd>"), 1u) << verdict;
  EXPECT_EQ(page.find("docs/"), std::string::npos) << "a page may be far from its checkout";
  EXPECT_EQ(count(page, "<summary>details</summary>"), 2u);
}

TEST(Report, ALongLabelStandsApartFromTheNextColumn) {
  testing::SyntheticOptions options;
  options.budgets = {262144, 524288};
  options.datasets = {"a_setting_with_a_long_name"};
  JudgeInput input = testing::synthetic_input(options);
  input.arms[0].label = "a label of more than thirty letters";
  testing::TemporaryFolder runs;
  testing::write_all(runs.path(), input, options);
  const std::string text = ledger_text(judge_table(input, runs.path(), ""));
  EXPECT_NE(text.find("  " + input.arms[0].label + " a_setting_with_a_long_name  "),
            std::string::npos)
      << text;  // tuned rates
  EXPECT_NE(text.find("\n  " + input.arms[0].label + "  "), std::string::npos) << text;  // losses
}

TEST(Report, ASpreadOfMoreThanOneNatIsPrintedWhole) {
  Json ledger = small_ledger();
  ledger["losses"][0]["s"] = 1.738;
  ledger["losses"][1]["s"] = .0084;
  const std::string text = ledger_text(ledger);
  EXPECT_NE(text.find(" +-1.738 "), std::string::npos) << text;
  EXPECT_NE(text.find(" +-.008 "), std::string::npos) << text;
}

TEST(Report, SaysWhatATimeIsRelativeTo) {
  const Json ledger = small_ledger();
  EXPECT_NE(
      ledger_text(ledger).find("time of a token, relative to GPT+, range over pairs of runs;"),
      std::string::npos);
  EXPECT_NE(report_page({ledger}, "").find("<th>time of a token, relative to GPT+</th>"),
            std::string::npos);
  Json other = ledger;  // a yardstick that is not the first arm
  other["equal_loss"] = {{"yardstick", "angpt"}, {"widest_step", 2.0}, {"rows", Json::array()}};
  EXPECT_NE(ledger_text(other).find("time of a token, relative to anGPT"), std::string::npos);
}

TEST(Report, HasNoHeadingAndNoFootnoteOfWhatIsNotThere) {
  testing::SyntheticOptions options;
  JudgeInput input = testing::synthetic_input(options);
  testing::TemporaryFolder runs;
  testing::write_all(runs.path(), input, options);
  const std::string heading = "VALIDATION LOSS", footnote = "* shown, but not part of the verdict";
  const Json whole = judge_table(input, runs.path(), "");
  EXPECT_NE(ledger_text(whole).find(heading), std::string::npos);
  EXPECT_NE(ledger_text(whole).find(footnote), std::string::npos)
      << "8 M times 1.4 is off the ladder";
  EXPECT_NE(report_page({whole}, "").find("A budget with a star"), std::string::npos);

  input.runs.clear();  // a table that only sweeps
  input.claims = Json::array({{{"id", "tolerance"},
                               {"statement", "it bears more"},
                               {"rule", "lr_tolerance"},
                               {"challenger", "angpt"},
                               {"reference", "gpt_plus"},
                               {"stable_within_nats", .1},
                               {"published", "/speed_up"}}});
  Json sweep = judge_table(input, runs.path(), "");
  Json& rows = sweep["claims"][0]["per_budget"];
  ASSERT_EQ(rows.size(), 2u);
  for (auto& row : rows) row["counts"] = true;
  EXPECT_EQ(ledger_text(sweep).find(heading), std::string::npos);
  EXPECT_EQ(ledger_text(sweep).find(footnote), std::string::npos);
  const std::string page = report_page({sweep}, "");
  EXPECT_EQ(page.find("Validation loss"), std::string::npos);
  EXPECT_EQ(page.find("A budget with a star"), std::string::npos);
}

TEST(Report, WithoutGnuplotSaysSoAndKeepsItsNumbers) {
  const std::string page = report_page({small_ledger()}, "no-such-program");
  EXPECT_NE(page.find("plots are missing"), std::string::npos);
  EXPECT_NE(page.find("Validation loss"), std::string::npos);
  EXPECT_EQ(page.find("<figure"), std::string::npos);
}

TEST(Report, WithGnuplotEveryPlotIsThere) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gnuplot here";
  const std::string page = report_page({small_ledger()});
  EXPECT_EQ(page.find("plots are missing"), std::string::npos);
  EXPECT_EQ(count(page, "<figure"), 4u);    // ladder, curves, a sweep at each of two budgets
  EXPECT_GE(count(page, "<path"), 4u * 4);  // two arms at least: lines, axes
}

TEST(Report, ASweepWithoutAnyTrialHasADashForItsRates) {
  testing::SyntheticOptions options;
  options.budgets = {262144};
  JudgeInput input = testing::synthetic_input(options);
  testing::TemporaryFolder nothing;
  const Json ledger = judge_table(input, nothing.path(), "");
  ASSERT_EQ(ledger.at("tuning").front().at("best_lr"), 0.0);
  const std::string text = ledger_text(ledger);
  EXPECT_EQ(text.find(" 0.0 "), std::string::npos) << text;
  EXPECT_NE(text.find("0.008 .. 0.032        -        -"), std::string::npos) << text;
  EXPECT_EQ(report_page({ledger}, "").find("<td>0.0</td>"), std::string::npos);
}

TEST(Report, LoadsNothingFromElsewhere) {
  const std::string page = report_page({small_ledger()});
  for (const char* bad : {"src=\"http", "href=\"http", "url(http", "<script", "@import"})
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
}

}  // namespace
}  // namespace normbench
