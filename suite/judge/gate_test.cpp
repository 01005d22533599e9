// The gate on invented records: what must turn it red does, one mutation at a time.
#include "suite/judge/gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "suite/base/files.h"
#include "suite/base/record_digest.h"
#include "suite/judge/baseline.h"
#include "suite/judge/bless.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/blessed_table.h"

namespace normbench {
namespace {

class Gate : public testing::BlessedTable {};

TEST_F(Gate, TheSameRecordsAreGreen) {
  for (const char* arm : {"gpt_plus", "angpt"}) EXPECT_TRUE(check(arm).green()) << check(arm).text;
  EXPECT_NE(check().text.find("9 runs equal to the last bit"), std::string::npos) << check().text;
  EXPECT_TRUE(check("angpt", "verdict").green()) << check("angpt", "verdict").text;
}

TEST_F(Gate, AnAbsentBaselineIsRedWithTheCommandThatMakesIt) {
  std::filesystem::remove(file);
  expect_red("normbench bless --tier cpu --only angpt.convergence");
}

TEST_F(Gate, APlaceholderIsRed) {
  edit_baseline([](Json& b) { b["entries"] = Json::object(); });
  expect_red("placeholder");
}

TEST_F(Gate, AnEntryWithoutValuesIsRed) {
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"])
      entry["arms"]["angpt"]["gcide_1k"]["524288"] = {
          {"n", 0}, {"mean", 0}, {"s", 0}, {"values", Json::array()}};
  });
  expect_red("absent or a placeholder");
  EXPECT_TRUE(check("gpt_plus").green());
}

TEST_F(Gate, OneChangedBitIsRed) {
  const RunRef run = run_of("angpt");
  testing::write_record(runs.path(), run, options, {.summary = [](Json& s) {
                          const double loss =
                              std::nextafter(s["validation_loss"].get<double>(), 10.0);
                          s["validation_loss"] = loss;
                          s["validation_loss_bits"] = double_bits(loss);
                        }});
  expect_red("not the same bits");
  expect_red("If the new numbers are right:  normbench bless --tier cpu");
  EXPECT_TRUE(check("gpt_plus").green());
}

TEST_F(Gate, OtherStepsWithTheSameEndAreRed) {
  testing::write_record(runs.path(), run_of("angpt"), options,
                        {.summary = [](Json& s) { s["steps_digest"] = "other"; }});
  expect_red("the steps differ");
}

TEST_F(Gate, ADeletedRecordIsRedAndNamed) {
  std::filesystem::remove_all(runs.path(run_of("angpt").run_id));
  expect_red(run_of("angpt").name + " is absent");
  EXPECT_TRUE(check("gpt_plus").green());
}

TEST_F(Gate, NobodyIsToldToBlessNumbersThatAreNotThere) {
  const auto says_no_bless = [&](const std::string& arm, const std::string& metric,
                                 const std::string& text) {
    expect_red(text, arm, metric);
    EXPECT_EQ(check(arm, metric).text.find("bless"), std::string::npos) << check(arm, metric).text;
  };
  std::filesystem::remove_all(runs.path(run_of("angpt").run_id));
  says_no_bless("angpt", "validation_loss", "is absent");
  says_no_bless("angpt", "verdict", "fell below");
  for (const auto& run : input.runs) std::filesystem::remove_all(runs.path(run.run_id));
  says_no_bless("angpt", "validation_loss",
                "there are no records of angpt to compare with " + file +
                    "\n  absent: 9 runs; the first: run.");
  says_no_bless("angpt", "verdict", "there are no records for a verdict about angpt");
  for (const char* metric : {"validation_loss", "verdict"}) {
    const std::string text = check("angpt", metric).text;
    EXPECT_NE(text.find("./run_all.sh --tier cpu --only angpt.convergence"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("class of"), std::string::npos) << text;
  }
}

TEST_F(Gate, AnEditedRecordIsRed) {
  const std::string path = runs.path(run_of("angpt").run_id + "/summary.json");
  Json summary = read_json(path);
  summary["validation_loss"] = 1.0;
  write_json(path, summary);
  expect_red("changed after the run");
}

TEST_F(Gate, TwoArmsSwappedRecordsAreRedForBoth) {
  const std::string a = runs.path(run_of("angpt").run_id), b = runs.path(run_of("gpt_plus").run_id);
  std::filesystem::rename(a, a + ".x");
  std::filesystem::rename(b, a);
  std::filesystem::rename(a + ".x", b);
  expect_red("another run's record", "angpt");
  expect_red("another run's record", "gpt_plus");
}

TEST_F(Gate, AnOldRecordIsRed) {
  input.canaries["angpt"].digest = "digest of today";
  expect_red("is stale");
  EXPECT_TRUE(check("gpt_plus").green());
}

TEST_F(Gate, ARecordIsJudgedByItsOwnCanaryWhenAnArmHasSeveral) {
  // As where one setting of an arm clips at another norm: only that setting's records are old.
  input.canaries["angpt, clipped at 2"] = input.canaries.at("angpt");
  input.canaries["angpt, clipped at 2"].digest = "digest of today";
  EXPECT_TRUE(check("angpt").green());
  for (auto& run : input.runs)
    if (run.arm == "angpt") run.canary = "angpt, clipped at 2";
  expect_red("is stale");
}

TEST_F(Gate, ATruncatedStepFileIsRed) {
  const std::string path = runs.path(run_of("angpt").run_id + "/steps.jsonl.zst");
  const std::string bytes = read_file(path);
  write_file_atomically(path, bytes.substr(0, bytes.size() / 2));
  expect_red("is damaged");
}

TEST_F(Gate, ADuplicatedSeedIsRed) {
  const std::string digest =
      read_json(runs.path(run_of("angpt", 1).run_id + "/summary.json"))["steps_digest"];
  testing::write_record(runs.path(), run_of("angpt", 2), options,
                        {.summary = [&](Json& s) { s["steps_digest"] = digest; }});
  expect_red("copy");
}

TEST_F(Gate, ASwappedBaselineIsRed) {
  edit_baseline([](Json& b) { b["tier"] = "gpu"; });
  expect_red("baseline of something else");
}

TEST_F(Gate, AWrongTypeInTheBaselineIsRedAndItsPlaceIsNamed) {
  const Json good = read_json(file);
  const std::string entry = "/entries/" + options.numeric_class;
  const std::string group = entry + "/arms/angpt/gcide_1k/524288", value = group + "/values/0";
  const std::vector<std::pair<std::string, Json>> wrong = {
      {group + "/n", "5"},
      {group + "/n", .5},
      {group + "/n", 4},  // of other values than stand there, as the next two
      {group + "/mean", 2.0},
      {group + "/s", nullptr},
      {group + "/values/1", 7},
      {group + "/values", 7},
      {value + "/seed", "1"},
      {value + "/run_id", 7},
      {value + "/bits", 7},
      {value + "/steps_digest", 7},
      {value + "/validation_loss", "2"},
      {value + "/validation_loss", 1.0},  // its bits say another
      {value + "/validation_loss", 1e308},
      {value + "/validation_loss", nullptr},
      {entry + "/verdicts/parity/gcide_1k", 7},
      {entry + "/verdicts/parity/gcide_1k", "REPRODUCD"},
      {entry + "/arms/angpt", 7},
      {entry, 7},
      {"/entries", 7}};
  for (const auto& [place, other] : wrong) {
    Json baseline = good;
    baseline[Json::json_pointer(place)] = other;
    write_json(file, baseline);
    for (const char* metric : {"validation_loss", "verdict"})
      expect_red(file + ", at " + place, "angpt", metric);
    EXPECT_THROW(judge_table(input, runs.path(), baselines.path()), UserError) << place;
    EXPECT_THROW(bless(input, runs.path(), file, reason), UserError) << place;
  }
  write_json(file, Json::array());
  expect_red(file);
}

TEST_F(Gate, SwappedArmsInTheBaselineAreRed) {
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"]) std::swap(entry["arms"]["angpt"], entry["arms"]["gpt_plus"]);
  });
  expect_red("another configuration");
}

TEST_F(Gate, ADivergenceThatWasNotThereIsRed) {
  testing::write_record(runs.path(), run_of("angpt"), options, {.diverged = true});
  expect_red("now diverged");
}

TEST_F(Gate, AnotherClassIsJudgedByThePredictionInterval) {
  other_class();
  EXPECT_TRUE(check().green()) << check().text;
  EXPECT_NE(check().text.find("prediction interval"), std::string::npos) << check().text;
}

TEST_F(Gate, AnotherClassWithAWrongLossIsRed) {
  other_class(-2);  // too good is red as well
  expect_red("outside");
  EXPECT_TRUE(check("gpt_plus").green());
}

TEST_F(Gate, AnotherClassCannotBeComparedWithOneValue) {
  edit_baseline([&](Json& b) {
    for (auto& entry : b["entries"])
      for (const char* arm : {"gpt_plus", "angpt"})
        for (auto& [budget, group] : entry["arms"][arm]["gcide_1k"].items()) {
          set_values(group, Json::array({group["values"][0]}));
        }
  });
  other_class();
  expect_red("one value a group");
}

TEST_F(Gate, AShiftOfAnotherClassIsRedEvenWithTwoSeeds) {
  options.seeds = {1, 2};
  input = testing::synthetic_input(options);
  testing::write_all(runs.path(), input, options);
  std::filesystem::remove(file);
  bless(input, runs.path(), file, reason);
  // By the spread of its own two seeds, one degree of freedom, t = 76 at .05 / 6: a group with the
  // noise of .008 would hold .6 nats. The six groups of the table together have t = 3.9.
  other_class(.3);
  expect_red("outside");
  other_class(.005);
  EXPECT_TRUE(check().green()) << check().text;
}

TEST_F(Gate, AVerdictBelowTheCommittedOneIsRed) {
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"]) entry["verdicts"]["speed_up"]["gcide_1k"] = "REPRODUCED";
  });
  options.token_ratio["angpt"] = .7;
  testing::write_all(runs.path(), input, options);
  expect_red("committed REPRODUCED", "angpt", "verdict");
}

TEST_F(Gate, AVerdictThatTheBaselineDoesNotHoldIsRed) {
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"]) entry["verdicts"].erase("parity");
  });
  expect_red("no verdict", "angpt", "verdict");
}

TEST_F(Gate, AnUnknownMetricIsAnError) { EXPECT_THROW(check("angpt", "los"), UserError); }

TEST_F(Gate, TheLedgerSaysWhatAnAbsentBaselineMeansAtItsTier) {
  std::filesystem::remove(file);
  const auto baseline = [&](const std::string& tier) {
    input.tier = tier;
    return judge_table(input, runs.path(), baselines.path())["baseline"].get<std::string>();
  };
  EXPECT_EQ(baseline("smoke"), "absent (the regression checks are red)");
  for (const char* tier : {"cpu", "gpu", "paper"})
    EXPECT_EQ(baseline(tier), "absent (the regression checks are skipped until it is blessed)");
}

TEST_F(Gate, TheLedgerIsAFunctionOfTheRecords) {
  const Json once = judge_table(input, runs.path(), baselines.path());
  EXPECT_EQ(once.dump(), judge_table(input, runs.path(), baselines.path()).dump());
  EXPECT_EQ(once["records"]["finished"], 18);
  const std::string text = ledger_text(once);
  EXPECT_NE(text.find("CLAIMS"), std::string::npos);
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    EXPECT_LE(end - start, 100u) << text.substr(start, end - start);
    start = end + 1;
  }
}

}  // namespace
}  // namespace normbench
