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
    EXPECT_NE(page.find(verdict.at("verdict").get<std::string>()), std::string::npos);
  EXPECT_NE(page.find("losses &lt;below&gt; &amp; &quot;above&quot;"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
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
