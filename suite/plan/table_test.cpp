// From a table file to its settings. Every refusal has a test that spoils a good table in one
// place.
#include "suite/plan/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "suite/plan/testing/small_table.h"

namespace normbench {
namespace {

using namespace testing::small_table;

TEST_F(PlanTest, TheGoodTableIsRead) {
  const Table table = read(table_file());
  EXPECT_EQ(table.paper, "paper");
  EXPECT_EQ(table.name, "first");
  EXPECT_EQ(table.arms.size(), 2u);
  EXPECT_EQ(table.tier("cpu"), nullptr);
  const Setting& setting = table.tier("smoke")->settings.at(0);
  EXPECT_EQ(setting.token_budgets, (std::vector<int64_t>{1280, 2560}));
  EXPECT_EQ(setting.sweep.grid.at("a").at(1280), (std::vector<double>{0.02, 0.04}));
}

TEST_F(PlanTest, AnUnknownKeyIsAnErrorAtEveryLevel) {
  expect_refusal("/titel", "t", "title");
  expect_refusal("/arms/a/modle", "gpt", "model");
  expect_refusal("/tiers/smoke/devise", "cpu", "device");
  expect_refusal(kSetting + "/seed", Json{1}, "seeds");
  expect_refusal(kSetting + "/sweep/grids", Json::object(), "grid");
}

TEST_F(PlanTest, AWrongTypeOrTierOrNameIsAnError) {
  expect_refusal("/schema", "normbench-table-2", "unknown schema");
  expect_refusal("/tiers/huge", {{"device", "cpu"}}, "no such tier");
  expect_refusal(kSetting + "/seeds", Json{"0"}, "wrong type");
  expect_refusal(kSetting + "/clip_norm", "1", "wrong type");
  expect_refusal(kSetting + "/size", "mikro", "did you mean \"micro\"?");
  expect_refusal(kSetting + "/peak_lr/c", Json::array({{1280, 0.01}}), "no such arm");
  expect_refusal(kSetting + "/peak_lr/a/0", Json{1280}, "[token budget, peak learning rate]");
  expect_refusal(kSetting + "/sweep/grid/a/1k", Json{0.1}, "not a token budget");
  expect_refusal(kSetting + "/sweep/grid/a", Json::object(), "swept nowhere");
  expect_refusal(kSetting + "/token_budgets", Json{0}, "not a token budget");
  expect_refusal("/claims/0/challenger", "c", "no such arm");
}

TEST_F(PlanTest, NumbersThatARunWouldTripOverAreErrors) {
  expect_refusal(kSetting + "/token_budgets", Json{1280, 2500},
                 "the nearest ones are 2432 and 2560");
  expect_refusal(kSetting + "/token_budgets", Json{2560, 1280}, "not in rising order");
  expect_refusal(kSetting + "/token_budgets", Json::array(), "empty");
  expect_refusal(kSetting + "/micro_batch_sequences", 3, "whole number of micro-batches");
  expect_refusal(kSetting + "/batch_sequences", 0, "a batch without a sequence");
  expect_refusal(kSetting + "/micro_batch_sequences", 0, "a batch without a sequence");
  expect_refusal(kSetting + "/validation_tokens", 65, "whole contexts");
  expect_refusal(kSetting + "/peak_lr/a/0/0", std::numeric_limits<uint64_t>::max(),
                 "18446744073709551615");
  expect_refusal("/tiers/smoke/threads", 1'000'000, "1 to 1024");
}

TEST_F(PlanTest, ASizeIsOneThatAModelCanHave) {
  const auto refusal = [&](const std::string& pointer, const Json& value) -> std::string {
    Json sizes = sizes_file();
    sizes[Json::json_pointer(pointer)] = value;
    write_json(folder_ + "/sizes.json", sizes);
    try {
      read_sizes(folder_);
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::string micro = "/sizes/micro";
  for (const char* key :
       {"num_layers", "width", "num_heads", "mlp_width", "context", "head_width"}) {
    const std::string at = micro + "/" + key;
    for (const int64_t value : {int64_t{-2}, int64_t{1} << 62})
      EXPECT_NE(refusal(at, value).find(at), std::string::npos) << refusal(at, value);
  }
  EXPECT_EQ(refusal(micro + "/head_width", 64), "accepted");
  EXPECT_NE(refusal(micro + "/head_width", 15).find("an even number"), std::string::npos);
  EXPECT_NE(refusal(micro + "/width", 6).find("an even number"), std::string::npos);  // 6 / 2 heads
  EXPECT_NE(refusal("/sizes", {{"other", sizes_file()["sizes"]["micro"]}}).find("/sizes/micro"),
            std::string::npos);
}

TEST_F(PlanTest, ASeedOfTheSweepIsNeverOneOfTheVerdict) {
  expect_refusal(kSetting + "/sweep/seeds", Json{100, 1},
                 "a seed of the sweep is also a seed of the verdict");
  std::set<int64_t> verdict, sweep;
  for (const auto& run : runs(read(table_file()))) (run.sweep ? sweep : verdict).insert(run.seed);
  EXPECT_EQ(verdict, (std::set<int64_t>{0, 1}));
  EXPECT_EQ(sweep, (std::set<int64_t>{100}));
}

TEST_F(PlanTest, AnEmptySelectionNamesTheNearestTable) {
  read(table_file());
  EXPECT_EQ(read_tables(folder_, "paper.first").size(), 1u);
  EXPECT_EQ(read_tables(folder_, "").size(), 1u);
  try {
    read_tables(folder_, "paper.frist");
    ADD_FAILURE() << "matched nothing in silence";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean \"paper.first\"?"), std::string::npos)
        << e.what();
  }
}

TEST_F(PlanTest, PeakRatesBetweenTwoBudgetsLieOnALineOfLogarithms) {
  const Table table = read(table_file());
  const Setting& setting = table.tier("smoke")->settings.at(0);
  EXPECT_EQ(peak_lr_at(setting, "a", 1280, ""), 0.04);
  EXPECT_EQ(peak_lr_at(setting, "a", 5120, ""), 0.01);
  EXPECT_EQ(peak_lr_at(setting, "a", 2560, ""), 0.02);  // half-way in log budget: sqrt(0.04 x 0.01)
  EXPECT_EQ(peak_lr_at(setting, "a", 3840, ""),
            0.0133);  // 0.04 (3840 / 1280)^-1 = 0.013333, three digits
  EXPECT_THROW(peak_lr_at(setting, "a", 640, ""), UserError);
  EXPECT_THROW(peak_lr_at(setting, "a", 10240, ""), UserError);
}

}  // namespace
}  // namespace normbench
