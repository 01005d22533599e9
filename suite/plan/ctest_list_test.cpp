// From runs to CTest tests: their names, times, labels and fixtures.
#include "suite/plan/ctest_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "suite/base/files.h"
#include "suite/plan/estimate.h"
#include "suite/plan/testing/small_table.h"

namespace normbench {
namespace {

using namespace testing::small_table;

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
