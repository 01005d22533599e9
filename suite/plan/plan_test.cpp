// From a table file to runs, run ids and CTest tests. Every refusal has a test that spoils a good
// table in one place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "suite/base/files.h"
#include "suite/plan/ctest_list.h"
#include "suite/plan/estimate.h"
#include "suite/plan/expand.h"
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
  expect_refusal(kSetting + "/validation_tokens", 65, "multiple of the context");
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
  const Registry registry(folder_ + "/registry.json");
  EXPECT_THROW(registry.resolve("optimizers", "adamw", {{"warm_steps", 1.5}}, ""),
               UserError);  // a count is no fraction
  EXPECT_THROW(Registry(folder_ + "/absent.json"), UserError);
}

/// The script's tests: name -> the line of its properties. A name that is added twice fails.
std::map<std::string, std::string> tests_of(const std::string& script) {
  std::map<std::string, std::string> tests;
  std::istringstream text(script);
  for (std::string line, name; std::getline(text, line);) {
    if (line.starts_with("add_test(")) {
      name = line.substr(9, line.find(' ') - 9);
      EXPECT_TRUE(tests.emplace(name, "").second) << name << " is added twice";
    } else if (line.starts_with("set_tests_properties(")) {
      EXPECT_EQ(line.substr(21, name.size() + 1), name + " ");
      tests[name] = line;
    }
  }
  return tests;
}

/// A list-valued property, quoted or one bare word.
std::set<std::string> property(const std::string& line, const std::string& key) {
  const size_t at = line.find(" " + key + " ");
  if (at == std::string::npos) return {};
  std::string value = line.substr(at + key.size() + 2);
  value = value.starts_with("[==[") ? value.substr(4, value.find("]==]") - 4)
                                    : value.substr(0, value.find_first_of(" )"));
  std::set<std::string> items;
  std::istringstream text(value);
  for (std::string item; std::getline(text, item, ';');) items.insert(item);
  return items;
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

/// The table with a measurement in its smoke tier.
Json measuring_table() {
  Json table = table_file();
  table["measurements"] = {
      {"largest", {{"label", "L"}, {"task", "spectrum"}, {"options", {{"scale", 2}}}}}};
  table["tiers"]["smoke"]["measurements"] = {
      {"largest", {{"seeds", {0, 1}}, {"options", {{"width", 8}}}}}};
  return table;
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

TEST_F(PlanTest, AMeasurementNeedsNoDataAndAClaimOnItsRunWaitsForIt) {
  Json table = measuring_table();
  table["claims"].push_back({{"id", "exact"}, {"measurement", "largest"}});
  const Table measuring = read(table);
  const auto tests = tests_of(script({measuring}));
  std::set<std::string> measured;
  for (const auto& planned : runs(measuring))
    if (!planned.task.empty()) measured.insert("run-" + planned.run_id);
  EXPECT_EQ(measured.size(), 2u);
  EXPECT_EQ(property(tests.at("check.paper.first.smoke.claim.exact"), "FIXTURES_REQUIRED"),
            measured);
  const auto& run = tests.at("run.paper.first.smoke.largest.s0");
  EXPECT_EQ(property(run, "FIXTURES_REQUIRED"), std::set<std::string>{"machine.cpu"});
  EXPECT_TRUE(property(run, "LABELS").contains("kind.measurement"));
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

TEST_F(PlanTest, EveryTestHasATimeoutLabelsAndFixturesThatExist) {
  const auto tests = tests_of(script({read(table_file())}));
  EXPECT_EQ(tests.size(),
            2u + 10 + 2 + 1 + 1);  // fixtures, runs, losses of two arms, claim, verdict
  std::set<std::string> set_up;
  for (const auto& [name, line] : tests) set_up.merge(property(line, "FIXTURES_SETUP"));
  for (const auto& [name, line] : tests) {
    const auto timeout = property(line, "TIMEOUT");
    ASSERT_EQ(timeout.size(), 1u) << name;
    EXPECT_GT(std::stoi(*timeout.begin()), 0) << name;
    const auto labels = property(line, "LABELS");
    for (const char* label : {"tier.smoke", "device.cpu", "paper.paper", "table.paper.first"})
      EXPECT_TRUE(labels.contains(label)) << name << " lacks " << label;
    EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const auto& label) {
      return label.starts_with("kind.");
    })) << name;
    for (const auto& fixture : property(line, "FIXTURES_REQUIRED"))
      EXPECT_TRUE(set_up.contains(fixture))
          << name << " needs " << fixture << ", which nothing sets up";
    if (name.starts_with("run.")) {
      EXPECT_EQ(property(line, "FIXTURES_REQUIRED"),
                (std::set<std::string>{"data.text", "machine.cpu"}))
          << name;
    }
  }
}

// CTest starts the dearest test first when it runs several at once.
TEST_F(PlanTest, ASlowArmDoesNotGoBeforeTheOthersOfItsBudget) {
  Json file = table_file();
  file["arms"]["b"]["model"] = "mixed";
  file["arms"]["b"]["model_options"] = Json::object();
  const Table table = read(file);
  const auto all = runs(table);
  ASSERT_EQ(all[1].arm, "b");
  for (const auto& [run, speed] : {std::pair(all[0], 1000.0), std::pair(all[1], 10.0)}) {
    const std::string folder = folder_ + "/runs/" + run.run_id;
    make_folders(folder);
    write_json(folder + "/summary.json", {{"tokens_per_second", speed}});
    write_json(folder + "/manifest.json", {{"config", run.config}});
  }
  const Estimate estimate(folder_ + "/runs");
  EXPECT_GT(estimate.seconds(all[1]), 10 * estimate.seconds(all[0]));
  const auto tests = tests_of(script({table}));
  EXPECT_EQ(property(tests.at(all[0].name), "COST"), property(tests.at(all[1].name), "COST"));
  EXPECT_NE(property(tests.at(all[0].name), "TIMEOUT"), property(tests.at(all[1].name), "TIMEOUT"));
}

TEST_F(PlanTest, ACheckRequiresTheFixturesOfItsRuns) {
  const Table table = read(table_file());
  const auto tests = tests_of(script({table}));
  std::map<std::string, std::set<std::string>> verdict, all;
  std::set<std::string> everything;
  for (const auto& run : runs(table)) {
    if (!run.sweep) verdict[run.arm].insert("run-" + run.run_id);
    all[run.arm].insert("run-" + run.run_id);
    everything.insert("run-" + run.run_id);
  }
  const auto required = [&](const std::string& name) {
    return property(tests.at("check.paper.first.smoke." + name), "FIXTURES_REQUIRED");
  };
  EXPECT_EQ(required("regression.a.validation_loss"), verdict["a"]);
  EXPECT_EQ(required("regression.b.validation_loss"), verdict["b"]);
  EXPECT_EQ(required("claim.better"), everything);  // both arms, the trials of their rates included
  EXPECT_EQ(required("regression.b.verdict"), everything);
}

TEST_F(PlanTest, AClaimOfOtherTiersHasNoTestHere) {
  Json table = table_file();
  table["tiers"]["paper"] = table["tiers"]["smoke"];
  table["claims"][0]["tiers"] = {"paper"};
  const auto tests = tests_of(script({read(table)}));
  EXPECT_FALSE(tests.contains("check.paper.first.smoke.claim.better"));
}

TEST_F(PlanTest, ARunThatTwoTablesShareIsOneTestWithTheLabelsOfBoth) {
  const Table first = read(table_file());
  Json other = table_file();
  other["tiers"]["smoke"]["settings"]["one"]["seeds"] = {1, 2};  // seed 1 is shared
  const Table second = read(other, "second");
  const auto tests = tests_of(script({first, second}));
  int num_runs = 0;
  for (const auto& [name, line] : tests) num_runs += name.starts_with("run.");
  EXPECT_EQ(num_runs, 4 * 3 + 2);  // arms x budgets x seeds 0, 1, 2, and two shared trials
  const std::string name = "run.paper.first.smoke.one.a.1280.s1";
  ASSERT_TRUE(tests.contains(name));
  EXPECT_FALSE(tests.contains("run.paper.second.smoke.one.a.1280.s1"));
  EXPECT_TRUE(tests.contains("run.paper.second.smoke.one.a.1280.s2"));
  const auto labels = property(tests.at(name), "LABELS");
  EXPECT_TRUE(labels.contains("table.paper.first") && labels.contains("table.paper.second"));
  // The second table's check asks for the shared run's fixture, whoever set it up.
  const auto required = property(tests.at("check.paper.second.smoke.regression.a.validation_loss"),
                                 "FIXTURES_REQUIRED");
  EXPECT_EQ(required.size(), 4u);
  for (const auto& fixture : property(tests.at(name), "FIXTURES_SETUP"))
    EXPECT_TRUE(required.contains(fixture));
}

}  // namespace
}  // namespace normbench
