// Every slip in a table file is an error of `normbench plan`, with file and path.
#include <filesystem>

#include "suite/plan/testing/small_table.h"

namespace normbench {
namespace {

using namespace testing::small_table;

/// Each test spoils the good table in one place and expects words of the message.
class TableChecks : public PlanTest {
 protected:
  std::string refusal_of_runs(const std::string& pointer, const Json& value) const {
    try {
      runs(read_with(pointer, value));
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  }
};

TEST_F(TableChecks, RatesAndLimitsArePositive) {
  expect_refusal(kSetting + "/peak_lr/a", Json::array(), "peak_lr/a");
  expect_refusal(kSetting + "/peak_lr/a/0/1", -1, "a learning rate must be positive");
  expect_refusal(kSetting + "/peak_lr/a/0/0", 0, "not a token budget");
  expect_refusal(kSetting + "/sweep/grid/a/1280", {0.02, 0.0}, "a learning rate must be positive");
  expect_refusal(kSetting + "/clip_norm", 0, "a clipping norm must be positive");
  expect_refusal(kSetting + "/divergence_loss_above", 0, "a limit that every loss exceeds");
  expect_refusal(kSetting + "/arm_batch_sequences", {{"b", 0}}, "whole number of micro-batches");
  expect_refusal(kSetting + "/arm_batch_sequences", {{"b", 3}}, "whole number of micro-batches");
}

TEST_F(TableChecks, ListsAreNotEmptyAndNameNothingTwice) {
  expect_refusal(kSetting + "/seeds", Json::array(), "an empty list");
  expect_refusal(kSetting + "/seeds", {0, 0}, "a seed stands twice");
  expect_refusal(kSetting + "/seeds", {-1}, "not a seed");
  expect_refusal(kSetting + "/token_budgets", {1280, 1280}, "a token budget stands twice");
  expect_refusal(kSetting + "/peak_lr/a/1/0", 1280, "a token budget stands twice");
  expect_refusal(kSetting + "/sweep/seeds", Json::array(), "an empty list");
  expect_refusal(kSetting + "/sweep/grid", Json::object(), "a sweep of nothing");
  expect_refusal(kSetting + "/sweep/grid/a/1280", Json::array(), "an empty list");
  expect_refusal(kSetting + "/sweep/grid/a/1280", {0.02, 0.02}, "a learning rate stands twice");
}

TEST_F(TableChecks, EveryArmIsTunedWithAsManyTrials) {
  const std::string b = kSetting + "/sweep/grid/b", unequal = "unequal numbers of trials";
  expect_refusal(b, {{"1280", {0.1}}}, unequal);
  expect_refusal(b, {{"1280", {0.1, 0.2}}, {"2560", {0.1}}}, unequal);
  expect_refusal(b, {{"2560", {0.1, 0.2}}}, unequal);
  EXPECT_NO_THROW(read_with(b, {{"1280", {0.1, 0.2}}}));  // {"a": {"1280": two rates}} stands there
}

TEST_F(TableChecks, ATierNamesADeviceAPrecisionAndAThread) {
  expect_refusal("/tiers/smoke/device", "tpu", "one of: cpu, cuda");
  expect_refusal("/tiers/smoke/precision", "fp16", "one of: fp32, bf16-mixed");
  expect_refusal("/tiers/smoke/threads", 0, "at least one thread");
  expect_refusal("/tiers/smoke/noise", {{"loss_sd", 0.1}}, "/tiers/smoke/noise");
  const Json noise = {{"loss_sd", 0.0}, {"slope_nats_per_doubling", 0.3}, {"source", "s"}};
  expect_refusal("/tiers/smoke/noise", noise, "loss_sd");
  expect_refusal("/tiers/smoke/settings/one/noise", noise, "settings/one/noise/loss_sd");
}

TEST_F(TableChecks, ArmsWithoutTunedRatesAreArmsAndHaveASource) {
  const auto tier = [](const Json& arms, bool source) {
    Json all = table_file()["tiers"]["smoke"];
    all["untuned_arms"] = arms;
    if (source) all["peak_lr_source"] = "by hand";
    return all;
  };
  EXPECT_NO_THROW(read_with("/tiers/smoke", tier({"b"}, true)));
  expect_refusal("/tiers/smoke", tier({"b"}, false), "peak_lr_source beside it");
  expect_refusal("/tiers/smoke", tier({"d"}, true), "no such arm");
  expect_refusal("/tiers/smoke", tier({"b", "b"}, true), "stands twice");
  expect_refusal("/tiers/smoke", tier(Json::array(), true), "an empty list");
}

TEST_F(TableChecks, AWordThatIsNoneOfTheChoicesIsAnErrorWithTheNearest) {
  EXPECT_NE(refusal_of_runs("/arms/a/model_options", {{"init", "literall"}})
                .find("did you mean \"literal\"?"),
            std::string::npos);
  EXPECT_EQ(refusal_of_runs("/arms/a/model_options", {{"init", "literal"}}), "accepted");
  EXPECT_NE(refusal_of_runs("/arms/a/probes", {"row_nrom"}).find("did you mean \"row_norm\"?"),
            std::string::npos);
  EXPECT_NE(refusal_of_runs("/arms/a/probes", {"row_norm", "row_norm"}).find("twice"),
            std::string::npos);
}

TEST_F(TableChecks, AClaimThatNamesWhatIsNotThereDoesNotVanish) {
  expect_refusal("/claims/0/datasets", {"onne"}, "did you mean \"one\"?");
  expect_refusal("/claims/0/datasets", Json::array(), "an empty list");
  expect_refusal("/claims/0/tiers", {"smok"}, "did you mean \"smoke\"?");
  expect_refusal("/claims/0/tiers", {"cpu"}, "this table has no such tier");
  expect_refusal("/claims/0/tiers", Json::array(), "an empty list");
  expect_refusal("/claims/0/out_of_scale", {{"why", "w"}, {"tiers", {"smok"}}},
                 "/claims/0/out_of_scale/tiers");
  expect_refusal("/claims/0/reference", "b", "compares an arm with itself");
  EXPECT_NO_THROW(read_with("/claims/0/datasets", {"one"}));
}

TEST_F(TableChecks, AClaimOfOneTierNamesSettingsOfThatTier) {
  Json table = table_file();
  table["tiers"]["paper"] = table["tiers"]["smoke"];
  table["tiers"]["paper"]["settings"] = {{"large", table["tiers"]["smoke"]["settings"]["one"]}};
  table["claims"][0]["datasets"] = {"large"};
  EXPECT_NO_THROW(read(table));
  table["claims"][0]["tiers"] = {"smoke"};
  EXPECT_THROW(read(table), UserError);
}

TEST_F(TableChecks, ANameIsOneWordOfACommandLineAndOfAFile) {
  for (const char* name : {"off)", "", "a b", "..", "-a", "a$b"}) {
    Json table = table_file();
    table["arms"][name] = table["arms"]["a"];
    EXPECT_THROW(read(table), UserError) << "arm " << name;
    table = table_file();
    table["tiers"]["smoke"]["settings"][name] = table["tiers"]["smoke"]["settings"]["one"];
    EXPECT_THROW(read(table), UserError) << "setting " << name;
    table = table_file();
    table["measurements"][name] = {{"label", "L"}, {"task", "spectrum"}};
    EXPECT_THROW(read(table), UserError) << "measurement " << name;
    expect_refusal(kSetting + "/dataset", name, kSetting + "/dataset");
  }
  for (const char* name : {"7b_prenorm_1e-3", "0.5b"}) {
    Json table = table_file();
    table["arms"][name] = table["arms"]["a"];
    EXPECT_NO_THROW(read(table)) << name;
  }
}

TEST_F(TableChecks, ABudgetHasOneSpelling) {
  for (const char* key : {"01280", "+1280", " 1280", "1280.0", "0", "-1280", ""})
    expect_refusal(kSetting + "/sweep/grid/a", {{"1280", {0.1}}, {key, {0.2}}},
                   "not a token budget");
}

TEST_F(TableChecks, PapersAndTablesHaveNamesThatARunCanBear) {
  const testing::TemporaryFolder tables;
  const auto refusal = [&](const std::string& file) -> std::string {
    tables.file(file, "{}");
    std::string message = "accepted";
    try {
      table_files(tables.path());
    } catch (const UserError& e) {
      message = e.what();
    }
    std::filesystem::remove_all(tables.path(file.substr(0, file.find('/'))));
    return message;
  };
  for (const char* file : {"mine/x.y.json", "mine/bad name.json", "mine;x/t.json", "a.b/t.json",
                           "-mine/t.json", "mine/-t.json"})
    EXPECT_NE(refusal(file).find("not a name for a paper or a table"), std::string::npos)
        << file << ": " << refusal(file);
  for (const char* file : {"t.json", "Data.json", "notes.txt", "mine/deeper/t.json", "mine/t.JSON",
                           "mine/t.jsn", "mine/t"})
    EXPECT_NE(refusal(file).find("is no table"), std::string::npos)
        << file << ": " << refusal(file);
  for (const char* file : {"sizes.json", "data.json", "README.md", "mine/README.md", "mine/t.json",
                           "mine/.t.json.swp", "mine/t.json~", "mine/t.json.tmp.17", ".cache/x"})
    EXPECT_EQ(refusal(file), "accepted") << file;
}

TEST_F(TableChecks, AWholeNumberGivenForAFractionIsNoCount) {
  EXPECT_NE(refusal_of_runs("/arms/a/optimizer_options", {{"warm_steps", 1'000'001}})
                .find("at most 1000000"),
            std::string::npos);
  EXPECT_EQ(refusal_of_runs("/arms/a/model_options", {{"late", 2'000'000}}), "accepted");
}

TEST_F(TableChecks, CountsWhoseProductOverflowsAreErrors) {
  for (const int64_t batch : {int64_t{1} << 58, int64_t{1} << 59, int64_t{1} << 62}) {
    expect_refusal(kSetting + "/batch_sequences", batch, "a step of more tokens than any run has");
    expect_refusal(kSetting + "/arm_batch_sequences", {{"b", batch}},
                   "a step of more tokens than any run has");
  }
  expect_refusal(kSetting + "/token_budgets", {INT64_MAX}, "a token budget that nobody can train");
  expect_refusal(kSetting + "/validation_tokens", 32'000'000'000'000, "a slice that is read");
}

TEST_F(TableChecks, ATierAndASettingRunSomething) {
  expect_refusal("/tiers/smoke/settings", Json::object(), "a tier that runs nothing");
  expect_refusal(kSetting + "/peak_lr", Json::object(), "no arm has a learning rate");
  Json table = table_file();
  table["claims"] = Json::array();
  Json& setting = table[Json::json_pointer(kSetting)];
  setting.erase("peak_lr");
  EXPECT_EQ(runs(read(table)).size(), 2u) << "the sweep that will say the rates";
  setting.erase("sweep");
  EXPECT_THROW(read(table), UserError);
}

TEST_F(TableChecks, ATierRunsTheArmsAndMeasurementsOfItsClaims) {
  const std::string never_trained = "tier smoke judges the claim and never trains its arm";
  Json table = table_file();
  table["arms"]["c"] = table["arms"]["a"];
  const auto refusal = [&] {
    try {
      read(table);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(), "accepted");
  table["claims"][0]["reference"] = "c";
  EXPECT_NE(refusal().find(never_trained), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("/claims/0/reference"), std::string::npos) << refusal();
  table["tiers"]["smoke"]["settings"]["one"]["sweep"]["grid"]["c"] = {{"1280", {0.1, 0.2}}};
  EXPECT_EQ(refusal(), "accepted");
  table["tiers"]["smoke"]["settings"]["two"] = table_file()["tiers"]["smoke"]["settings"]["one"];
  table["claims"][0]["datasets"] = {"two"};
  EXPECT_NE(refusal().find(never_trained), std::string::npos) << refusal();
  table["claims"] = Json::array({{{"id", "exact"}, {"measurement", "largest"}}});
  table["measurements"] = {{"largest", {{"label", "L"}, {"task", "spectrum"}}}};
  EXPECT_NE(refusal().find("never measures it"), std::string::npos) << refusal();
}

TEST_F(TableChecks, AListOfMixedKindsSaysWhatAnElementIs) {
  expect_refusal(kSetting + "/token_budgets", Json::parse("[1280, 2560.5]"), "an integer");
}

TEST_F(TableChecks, OptionsAreAnObject) {
  expect_refusal("/arms/a/model_options", "qk_norm", "/arms/a/model_options");
  expect_refusal("/arms/a/schedule_options", Json::array(), "an object");
  Json table = table_file();
  table["measurements"] = {{"largest", {{"label", "L"}, {"task", "spectrum"}}}};
  table["tiers"]["smoke"]["measurements"] = {{"largest", {{"seeds", {0}}, {"options", 3}}}};
  EXPECT_THROW(read(table), UserError);
}

TEST_F(TableChecks, WhatALedgerPrintsIsText) {
  expect_refusal("/source", Json::object(), "/source/paper");
  expect_refusal("/deviations", Json::array({{{"what", "width"}}}), "/deviations/0/paper");
  expect_refusal("/not_tested", Json::array({"speed"}), "/not_tested/0");
}

}  // namespace
}  // namespace normbench
