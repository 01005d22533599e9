#include "suite/judge/ledger_probes.h"

#include <gtest/gtest.h>

#include "suite/base/text.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

TEST(LedgerProbes, MeansOverSeedsOfTheLongestRunsStandInLedgerAndText) {
  const testing::TemporaryFolder folder;
  const testing::SyntheticOptions options;
  const JudgeInput input = testing::synthetic_input(options);
  testing::write_all(folder.path(), input, options);
  EXPECT_TRUE(probes_json(Evidence::load(input, folder.path())).empty());

  const int64_t longest = input.runs.back().token_budget;
  for (const auto& run : input.runs) {
    if (run.arm != "angpt") continue;
    const auto seed = static_cast<double>(run.seed);
    testing::write_record(folder.path(), run, options, {.summary = [&](Json& summary) {
                            summary["probes_at_start"] = {{"residual_norm", {1.0, 1.0}},
                                                          {"copying", {{"repeated", 7.0}}}};
                            summary["probes"] = {{"residual_norm", {2.0 + seed, nullptr}},
                                                 {"copying", {{"repeated", 3.0 + seed}}}};
                          }});
  }
  const Json probes = probes_json(Evidence::load(input, folder.path()));
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0]["arm"], "angpt");
  EXPECT_EQ(probes[0]["budget"], longest);
  double mean_seed = 0;
  for (const auto& run : input.runs)
    if (run.arm == "angpt" && run.token_budget == longest)
      mean_seed += static_cast<double>(run.seed) / probes[0]["n"].get<double>();
  EXPECT_DOUBLE_EQ(probes[0]["after"]["residual_norm"][0].get<double>(), 2 + mean_seed);
  EXPECT_TRUE(probes[0]["after"]["residual_norm"][1].is_null());  // a hole stays one
  // Of a single number what each seed says.
  EXPECT_TRUE(probes[0]["after_of_seeds"].contains("copying"));
  EXPECT_FALSE(probes[0]["after_of_seeds"].contains("residual_norm"));
  std::vector<std::string> each;
  for (const auto& run : input.runs)
    if (run.arm == "angpt" && run.token_budget == longest)
      each.push_back(plain_text(3 + static_cast<double>(run.seed)));
  const std::string text = ledger_text(judge_table(input, folder.path(), ""));
  EXPECT_NE(text.find("residual_norm: " + plain_text(2 + mean_seed) + " -; before training: 1 1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("copying repeated: " + plain_text(3 + mean_seed) + " (" + join(each, " ") +
                      "); before training: 7"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace normbench
