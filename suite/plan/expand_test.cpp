// From a table to runs, run ids and canaries. Every refusal has a test that spoils a good table in
// one place.
#include "suite/plan/expand.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "suite/plan/testing/small_table.h"

namespace normbench {
namespace {

using namespace testing::small_table;

TEST_F(PlanTest, ATierExpandsIntoEveryRunOnce) {
  const auto planned = runs(read(table_file()));
  ASSERT_EQ(planned.size(), 2u * 2 * 2 + 2);  // arms x budgets x seeds, and two trials
  EXPECT_EQ(planned[0].name, "run.paper.first.smoke.one.a.1280.s0");
  EXPECT_EQ(planned.back().name, "run.paper.first.smoke.sweep.one.a.1280.lr0.04.s100");
  std::set<std::string> ids, names;
  for (const auto& run : planned) {
    ids.insert(run.run_id);
    names.insert(run.name);
  }
  EXPECT_EQ(ids.size(), planned.size());
  EXPECT_EQ(names.size(), planned.size());
}

TEST_F(PlanTest, AnArmWithABatchOfItsOwnTrainsWithIt) {
  const auto planned = runs(read_with(kSetting + "/arm_batch_sequences", {{"b", 2}}));
  for (const auto& run : planned)
    EXPECT_EQ(run.config["batch_sequences"], run.arm == "b" ? 2 : 4) << run.name;
}

TEST_F(PlanTest, ARunIdIsStableAndStandsForTheWholeConfiguration) {
  const auto planned = runs(read(table_file()));
  EXPECT_EQ(planned[0].run_id, runs(read(table_file()))[0].run_id);
  EXPECT_EQ(planned[0].run_id,
            run_id_of(Json::parse(planned[0].config.dump(2))));  // through a file and back
  EXPECT_EQ(planned[0].run_id.size(), 16u);

  const Json flat = planned[0].config.flatten();
  EXPECT_GE(flat.size(), 28u);  // 21 keys; size has 7 values and the options of this registry 6
  for (const auto& item : flat.items()) {
    Json changed = flat;
    const Json& value = item.value();
    changed[item.key()] = value.is_string()         ? Json(value.get<std::string>() + "x")
                          : value.is_boolean()      ? Json(!value.get<bool>())
                          : value.is_number_float() ? Json(std::nextafter(value.get<double>(), 1e9))
                                                    : Json(value.get<int64_t>() + 1);
    EXPECT_NE(run_id_of(changed.unflatten()), planned[0].run_id) << item.key();
  }
}

TEST_F(PlanTest, WhatTheTableWritesInOtherWordsHasTheSameRunId) {
  // 1 for 1.0, and a default that is spelt out.
  const auto planned = runs(read(table_file()));
  EXPECT_EQ(runs(read_with(kSetting + "/clip_norm", 1))[0].run_id, planned[0].run_id);
  EXPECT_EQ(runs(read_with("/arms/a/model_options", {{"qk_norm", true}, {"scale", 1}}))[0].run_id,
            planned[0].run_id);
  EXPECT_NE(runs(read_with("/arms/a/model_options", {{"qk_norm", false}}))[0].run_id,
            planned[0].run_id);
}

TEST_F(PlanTest, WithoutTheDataARunHasNoId) {
  for (const auto& run : runs(read(table_file()), unknown)) EXPECT_EQ(run.run_id, "") << run.name;
}

TEST_F(PlanTest, TextThatIsTooShortIsAnErrorBeforeAnythingRuns) {
  const auto refusal = [&](int64_t train_tokens, int64_t validation_tokens) -> std::string {
    const auto text = [&](const std::string& name) {
      auto identity = prepared(name);
      identity->train_tokens = train_tokens;
      identity->validation_tokens = validation_tokens;
      return identity;
    };
    try {
      runs(read(table_file()), text);  // windows of 32 tokens, two of them for validation
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(33, 65), "accepted");
  EXPECT_NE(refusal(32, 65).find(kSetting + "/dataset"), std::string::npos) << refusal(32, 65);
  EXPECT_NE(refusal(33, 64).find(kSetting + "/validation_tokens"), std::string::npos)
      << refusal(33, 64);
  EXPECT_NE(refusal(33, 64).find("at most 32"), std::string::npos) << refusal(33, 64);
}

TEST_F(PlanTest, MoreExpertsToATokenThanThereAreIsAnError) {
  const auto refusal = [&](const Json& options) -> std::string {
    Json table = table_file();
    table["arms"]["a"] = {{"label", "A"},
                          {"model", "experts"},
                          {"model_options", options},
                          {"optimizer", "adamw"},
                          {"schedule", "cosine"}};
    try {
      runs(read(table));
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({{"pattern", "AE"}, {"top_k", 4}}), "accepted");
  EXPECT_EQ(refusal({{"pattern", "AB"}, {"top_k", 5}}), "accepted") << "no experts to count";
  EXPECT_NE(refusal({{"pattern", "AE"}, {"top_k", 5}}).find("/arms/a/model_options/top_k"),
            std::string::npos);
}

TEST_F(PlanTest, AnOptionOfAnotherNameOrTypeIsAnError) {
  EXPECT_EQ(resolve("gpt", {{"scale", 2}}),
            (Json{{"qk_norm", true}, {"init", "scaled"}, {"scale", 2.0}}));
  EXPECT_TRUE(resolve("gpt", {{"scale", 2}})["scale"].is_number_float());
  const auto message = [&](const std::string& name, const Json& given) -> std::string {
    try {
      resolve(name, given);
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message("gtp", Json::object()).find("did you mean \"gpt\"?"), std::string::npos);
  EXPECT_NE(message("gpt", {{"qk_nrom", true}}).find("did you mean \"qk_norm\"?"),
            std::string::npos);
  EXPECT_NE(message("gpt", {{"qk_norm", 1}}).find("/arms/a/qk_norm"), std::string::npos);
  EXPECT_NE(message("gpt", {{"init", 0.02}}).find("wrong type"), std::string::npos);
  EXPECT_NE(message("gpt", {{"scale", "1"}}).find("wrong type"), std::string::npos);
  EXPECT_EQ(message("gpt", {{"scale", 8}}), "accepted");
  for (const double scale : {0.0, 8.5})
    EXPECT_NE(message("gpt", {{"scale", scale}}).find("above 0 and at most 8"), std::string::npos);
  const Registry registry(registry_);
  EXPECT_THROW(registry.resolve("optimizers", "adamw", {{"warm_steps", 1.5}}, ""),
               UserError);  // a count is no fraction
  EXPECT_THROW(Registry(folder_ + "/absent.json"), UserError);
}

TEST_F(PlanTest, AnOptionAddedLaterLeavesRunIdsAloneUntilItIsUsed) {
  EXPECT_FALSE(resolve("gpt", Json::object()).contains("late"));
  EXPECT_EQ(resolve("gpt", {{"late", 1}}), resolve("gpt", Json::object()));
  EXPECT_EQ(resolve("gpt", {{"late", 0.5}})["late"], 0.5);
}

TEST_F(PlanTest, AnArmThatAsksForProbesIsAnotherRunOnTheSameCanary) {
  const auto plain = runs(read(table_file()));
  const auto probed = runs(read_with("/arms/a/probes", {"residual_norm"}));
  EXPECT_EQ(probed[0].config["probes"], Json({"residual_norm"}));
  EXPECT_NE(probed[0].run_id, plain[0].run_id);
  EXPECT_EQ(probed[0].canary, plain[0].canary);
  ASSERT_EQ(probed[1].arm, "b");
  EXPECT_EQ(probed[1].run_id, plain[1].run_id);
}

TEST_F(PlanTest, ArmsTakeTurnsSoThatRunsOfAPairAreNeighbours) {
  const auto all = runs(read(table_file()));
  for (size_t i = 0; i + 1 < all.size() && !all[i + 1].sweep; i += 2) {
    EXPECT_EQ(all[i].arm, "a");
    EXPECT_EQ(all[i + 1].arm, "b");
    EXPECT_EQ(all[i].token_budget, all[i + 1].token_budget);
    EXPECT_EQ(all[i].seed, all[i + 1].seed);
  }
}

TEST_F(PlanTest, ASettingWithoutBudgetsTrainsItsSweepAlone) {
  Json table = table_file();
  table["claims"] = Json::array();  // on arms that a sweep of one of them does not train
  auto& setting = table[Json::json_pointer(kSetting)];
  for (const char* key : {"token_budgets", "seeds", "peak_lr"}) setting.erase(key);
  const auto planned = runs(read(table));
  ASSERT_EQ(planned.size(), 2u);
  EXPECT_TRUE(planned[0].sweep && planned[1].sweep);
  setting["seeds"] = {0};
  EXPECT_THROW(read(table), UserError);  // seeds of what?
  setting.erase("seeds");
  setting.erase("sweep");
  EXPECT_THROW(read(table), UserError);  // neither budgets nor a sweep
}

TEST_F(PlanTest, AMeasurementIsARunOfItsTaskASeed) {
  const auto planned = runs(read(measuring_table()));
  const PlannedRun& run = planned.back();
  EXPECT_EQ(run.name, "run.paper.first.smoke.largest.s1");
  EXPECT_EQ(run.config, (Json{{"task", "spectrum"},
                              {"options", {{"width", 8}, {"scale", 2.0}}},
                              {"device", "cpu"},
                              {"threads", 1},
                              {"seed", 1}}));
  EXPECT_EQ(run.canary["options"], (Json{{"width", 4}, {"scale", 1.0}}));
  EXPECT_EQ(run.canary, planned[planned.size() - 2].canary);
  EXPECT_EQ(run.run_id, run_id_of(run.config));
}

TEST_F(PlanTest, RefusesAMeasurementThatIsUnknown) {
  const auto refusal = [&](const std::string& pointer, const Json& value) -> std::string {
    Json table = measuring_table();
    table[Json::json_pointer(pointer)] = value;
    try {
      runs(read(table));
    } catch (const UserError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("/measurements/largest/task", "spectrun").find("\"spectrum\""),
            std::string::npos);
  EXPECT_NE(refusal("/measurements/largest/options/widht", 1).find("did you mean \"width\"?"),
            std::string::npos);
  EXPECT_NE(refusal("/tiers/smoke/measurements/smallest", {{"seeds", {0}}}).find("smallest"),
            std::string::npos);
  EXPECT_NE(refusal("/claims/0/measurement", "smallest").find("smallest"), std::string::npos);
}

TEST_F(PlanTest, ACanaryHangsOnTheArithmeticAloneNotOnBudgetSeedOrData) {
  const Json config = runs(read(table_file()))[0].config;
  const Json micro = read_sizes(folder_)["micro"];
  const Json canary = canary_config(config, micro);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"token_budget", 2560},
                                                 {"seed", 7},
                                                 {"peak_lr", 0.5},
                                                 {"dataset", "other"},
                                                 {"train_digest", "x"},
                                                 {"validation_digest", "x"},
                                                 {"validation_tokens", 128},
                                                 {"batch_sequences", 8},
                                                 {"micro_batch_sequences", 8}}) {
    Json other = config;
    ASSERT_NE(other[key], value) << key;
    other[key] = value;
    EXPECT_EQ(canary_config(other, micro), canary) << key;
  }
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, Json>>{{"/model", "x"},
                                                 {"/model_options/qk_norm", false},
                                                 {"/optimizer_options/beta1", 0.5},
                                                 {"/schedule", "x"},
                                                 {"/clip_norm", 2.0},
                                                 {"/precision", "bf16-mixed"},
                                                 {"/device", "cuda"},
                                                 {"/threads", 2}}) {
    Json other = config;
    other[Json::json_pointer(pointer)] = value;
    EXPECT_NE(canary_config(other, micro), canary) << pointer;
  }
}

}  // namespace
}  // namespace normbench
