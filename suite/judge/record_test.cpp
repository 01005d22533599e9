#include "suite/judge/record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "suite/base/files.h"
#include "suite/base/record_digest.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

class RecordTest : public ::testing::Test {
 protected:
  RecordTest()
      : input(testing::synthetic_input(options)),
        run(input.runs.front()),
        other(input.runs.back()) {
    testing::write_record(folder.path(), run, options);
  }
  Record load() { return load_record(folder.path(), run, input.canaries.at(run.arm)); }
  std::string file(const std::string& name) { return folder.path(run.run_id + "/" + name); }
  void expect(RecordState state, const std::string& reason) {
    const Record record = load();
    EXPECT_STREQ(record_state_name(record.state), record_state_name(state)) << record.reason;
    EXPECT_NE(record.reason.find(reason), std::string::npos) << record.reason;
  }
  testing::SyntheticOptions options;
  testing::TemporaryFolder folder;
  JudgeInput input;
  RunRef run, other;
};

TEST_F(RecordTest, AWholeRecordIsFinished) {
  const Record record = load();
  EXPECT_EQ(record.state, RecordState::kFinished) << record.reason;
  EXPECT_EQ(record.validation_loss(), testing::synthetic_loss(options, run));
  EXPECT_EQ(record.step_lines.size(), 16u);
}

TEST_F(RecordTest, ADivergedRunIsAResult) {
  testing::write_record(folder.path(), run, options, {.diverged = true});
  const Record record = load();
  EXPECT_EQ(record.state, RecordState::kDiverged) << record.reason;
  EXPECT_TRUE(std::isinf(record.validation_loss()));
}

TEST_F(RecordTest, AMissingFolderIsAbsent) {
  std::filesystem::remove_all(folder.path(run.run_id));
  expect(RecordState::kAbsent, "no folder");
}

TEST_F(RecordTest, AnUnfinishedRunIsAbsent) {
  std::filesystem::remove(file("summary.json"));
  expect(RecordState::kAbsent, "not finished");
}

TEST_F(RecordTest, WithoutPreparedDataThereIsNoRunIdAndTheDataSetIsNamed) {
  run.run_id.clear();  // the runs folder itself is there, and is no run that has begun
  expect(RecordState::kAbsent, "data set gcide_1k is not prepared");
  run.data = "owt";  // of a setting with a name of its own
  expect(RecordState::kAbsent, "data set owt is not prepared");
}

TEST_F(RecordTest, AnEditedLossIsSeen) {
  Json summary = read_json(file("summary.json"));
  summary["validation_loss"] = summary["validation_loss"].get<double>() - .1;
  write_json(file("summary.json"), summary);
  expect(RecordState::kDamaged, "changed after the run");
}

TEST_F(RecordTest, AnEditedManifestIsSeen) {
  Json manifest = read_json(file("manifest.json"));
  manifest["numeric_class"] = "another";
  write_json(file("manifest.json"), manifest);
  expect(RecordState::kDamaged, "changed after the run");
}

TEST_F(RecordTest, AnEditedConfigurationIsSeenEvenIfItIsSealedAgain) {
  testing::write_record(folder.path(), run, options,
                        {.manifest = [](Json& m) { m["config"]["peak_lr"] = .5; }});
  expect(RecordState::kDamaged, "hash of the configuration");
}

TEST_F(RecordTest, ALossAndItsBitsMustAgree) {
  testing::write_record(folder.path(), run, options,
                        {.summary = [](Json& s) { s["validation_loss"] = 1.0; }});
  expect(RecordState::kDamaged, "bits disagree");
}

TEST_F(RecordTest, ARecordOfAnotherRunIsSeen) {
  testing::write_record(folder.path(), other, options);
  std::filesystem::remove_all(folder.path(run.run_id));
  std::filesystem::rename(folder.path(other.run_id), folder.path(run.run_id));
  expect(RecordState::kDamaged, "another run's record");
}

TEST_F(RecordTest, APlannedSeedThatIsNotTheRecordsIsSeen) {
  ++run.seed;
  expect(RecordState::kDamaged, "configuration's seed");
}

TEST_F(RecordTest, AnEditedStepIsSeen) {
  testing::write_record(folder.path(), run, options);
  Json manifest = read_json(file("manifest.json")), summary = read_json(file("summary.json"));
  testing::write_record(folder.path(), run, options, {.lines = [](auto& lines) {
                          lines[3].replace(lines[3].find("\"lr\""), 4, "\"lR\"");
                        }});
  write_json(file("summary.json"), summary);
  expect(RecordState::kDamaged, "changed after the run");
}

TEST_F(RecordTest, AMissingStepIsSeenEvenIfItIsSealedAgain) {
  testing::write_record(folder.path(), run, options,
                        {.lines = [](auto& lines) { lines.erase(lines.begin() + 5); }});
  expect(RecordState::kDamaged, "number of step lines");
}

TEST_F(RecordTest, AShortRunThatSaysItIsFinishedIsSeen) {
  testing::write_record(folder.path(), run, options,
                        {.summary =
                             [](Json& s) {
                               s["steps"] = 10;
                               s["tokens"] = 10 * 65536;
                             },
                         .lines = [](auto& lines) { lines.resize(10); }});
  expect(RecordState::kDamaged, "the budget");
}

TEST_F(RecordTest, ACutStepFileIsSeen) {
  const std::string bytes = read_file(file("steps.jsonl.zst"));
  write_file_atomically(file("steps.jsonl.zst"), bytes.substr(0, bytes.size() - 3));
  expect(RecordState::kDamaged, "");
  write_file_atomically(file("steps.jsonl.zst"), bytes);
  expect(RecordState::kFinished, "");
}

TEST_F(RecordTest, GarbageIsDamageAndNeverACrash) {
  for (const char* name : {"manifest.json", "summary.json", "steps.jsonl.zst"}) {
    const std::string bytes = read_file(file(name));
    for (const std::string& garbage : {std::string("{}"), std::string("[]"), std::string("null"),
                                       std::string("\x28\xb5\x2f\xfd garbage"), std::string()}) {
      write_file_atomically(file(name), garbage);
      EXPECT_EQ(load().state, RecordState::kDamaged) << name << " " << garbage;
    }
    write_file_atomically(file(name), bytes);
  }
  expect(RecordState::kFinished, "");
}

TEST_F(RecordTest, DamageIsSaidInOurWordsAndNamesTheFile) {
  const auto said = [&](const std::string& name, const std::string& text,
                        const std::string& reason) {
    const std::string bytes = read_file(file(name));
    write_file_atomically(file(name), text);
    expect(RecordState::kDamaged, reason);
    expect(RecordState::kDamaged, file(name));
    EXPECT_EQ(load().reason.find("json.exception"), std::string::npos) << load().reason;
    EXPECT_EQ(load().reason.find('\n'), std::string::npos) << load().reason;
    write_file_atomically(file(name), bytes);
  };
  for (const char* name : {"manifest.json", "summary.json"}) {
    said(name, "[]", "wrong type; where: " + file(name) + "; found: []; expected: an object");
    said(name, "{}", "a key is missing; where: " + file(name) + ", at /schema; found: no");
    said(name, "x", "not valid JSON; where: " + file(name) + ":1:1; found: syntax error");
  }
  Json summary = read_json(file("summary.json"));
  summary["steps"] = "16";
  said("summary.json", summary.dump(), "an integer");
  Json manifest = read_json(file("manifest.json"));
  manifest["config"] = Json::array();
  said("manifest.json", manifest.dump(), "at /config");
  // Sealed, and read only where the canary is compared.
  testing::write_record(folder.path(), run, options,
                        {.manifest = [](Json& m) { m["canary_numbers"] = "none"; }});
  expect(RecordState::kDamaged, folder.path(run.run_id) + ": type must be array");
}

TEST_F(RecordTest, ASettingMayHaveAnotherNameThanItsDataSet) {
  RunRef renamed = run;
  renamed.dataset = "deep";
  EXPECT_EQ(load_record(folder.path(), renamed, std::nullopt).state, RecordState::kDamaged);
  renamed.data = run.dataset;
  EXPECT_EQ(load_record(folder.path(), renamed, std::nullopt).state, RecordState::kFinished);
}

TEST_F(RecordTest, AnotherNumericDigestIsStale) {
  const Record record =
      load_record(folder.path(), run, CanaryResult{options.numeric_class, "another digest", {}});
  EXPECT_EQ(record.state, RecordState::kStale);
  // A machine that rounds otherwise cannot tell by the digest.
  EXPECT_EQ(
      load_record(folder.path(), run, CanaryResult{"another class", "another digest", {}}).state,
      RecordState::kFinished);
  EXPECT_EQ(load_record(folder.path(), run, std::nullopt).state,
            RecordState::kFinished);  // offline judging
}

TEST_F(RecordTest, TwoSeedsWithTheSameStepsAreACopy) {
  RunRef copy = input.runs[1];
  ASSERT_EQ(copy.arm, run.arm);
  ASSERT_EQ(copy.token_budget, run.token_budget);
  const std::string digest = read_json(file("summary.json"))["steps_digest"];
  testing::write_record(folder.path(), copy, options,
                        {.summary = [&](Json& s) { s["steps_digest"] = digest; }});
  const auto records = load_records(folder.path(), {run, copy}, {});
  EXPECT_TRUE(records[0].usable());
  EXPECT_EQ(records[1].state, RecordState::kDamaged);
  EXPECT_NE(records[1].reason.find("copy"), std::string::npos) << records[1].reason;
}

/// One step has not seen its rate, and two far too large ones diverge at the same second step.
TEST_F(RecordTest, TwoRatesOfASeedWithTheSameStepsAreNone) {
  RunRef larger = run;
  larger.peak_lr = 1e12;
  larger = testing::planned(larger);
  const std::string digest = read_json(file("summary.json"))["steps_digest"];
  testing::write_record(folder.path(), larger, options,
                        {.summary = [&](Json& s) { s["steps_digest"] = digest; }});
  for (const auto& record : load_records(folder.path(), {run, larger}, {}))
    EXPECT_TRUE(record.usable()) << record.reason;
}

TEST_F(RecordTest, ASeedPlannedTwiceIsSeen) {
  const auto records = load_records(folder.path(), {run, run}, {});
  EXPECT_EQ(records[1].state, RecordState::kDamaged);
  EXPECT_NE(records[1].reason.find("twice"), std::string::npos) << records[1].reason;
}

TEST(RecordDigest, EveryPartCounts) {
  const Json manifest{{"a", 1}}, summary{{"b", 2}};
  const std::string digest = record_digest(manifest, {"x", "y"}, summary);
  EXPECT_EQ(digest,
            record_digest(manifest, {"x", "y"}, sealed_summary(manifest, {"x", "y"}, summary)));
  EXPECT_NE(digest, record_digest({{"a", 2}}, {"x", "y"}, summary));
  EXPECT_NE(digest, record_digest(manifest, {"xy"}, summary));
  EXPECT_NE(digest, record_digest(manifest, {"x", "z"}, summary));
  EXPECT_NE(digest, record_digest(manifest, {"x", "y"}, {{"b", 3}}));
  EXPECT_EQ(double_bits(1.0), "3ff0000000000000");
}

TEST(Record, NumbersAreReadFromALineWithoutParsingIt) {
  EXPECT_EQ(number_in_line(R"({"grad_norm":1,"loss":3.25,"tokens":2048})", "loss"), 3.25);
  EXPECT_EQ(number_in_line(R"({"grad_norm":1,"loss":3.25,"tokens":2048})", "tokens"), 2048);
  EXPECT_TRUE(std::isnan(number_in_line("{}", "loss")));
}

}  // namespace
}  // namespace normbench
