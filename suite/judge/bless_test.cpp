// What a blessing writes, keeps and refuses.
#include "suite/judge/bless.h"

#include <filesystem>

#include "suite/judge/testing/blessed_table.h"

namespace normbench {
namespace {

class Bless : public testing::BlessedTable {};

TEST_F(Bless, KeepsTheOtherClasses) {
  other_class();
  bless(input, runs.path(), file, reason);
  EXPECT_EQ(read_json(file)["entries"].size(), 2u);
  EXPECT_NE(check().text.find("equal to the last bit"), std::string::npos) << check().text;
}

TEST_F(Bless, TheSameNumbersAgainKeepTheReasonOfTheirMeasurement) {
  const std::string before = read_file(file);
  BlessOptions again = reason;
  again.reason = "a second look";
  again.date = "2026-02-02";
  const std::string said = bless(input, runs.path(), file, again);
  EXPECT_NE(said.find("0 of 18 values new or changed"), std::string::npos) << said;
  EXPECT_NE(said.find("the entry is kept as it is"), std::string::npos) << said;
  EXPECT_EQ(read_file(file), before);
  const auto is_written_anew = [&] {
    bless(input, runs.path(), file, again);
    const Json entry = read_json(file)["entries"][options.numeric_class];
    EXPECT_EQ(entry["created"]["reason"], "a second look");
    write_file_atomically(file, before);
  };
  // The same values with another verdict, one value more than now, and another value.
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"]) entry["verdicts"]["parity"]["gcide_1k"] = "NOT_RUN";
  });
  is_written_anew();
  edit_baseline([](Json& b) {
    for (auto& entry : b["entries"]) {
      Json& group = entry["arms"]["angpt"]["gcide_1k"]["524288"];
      Json values = group["values"];
      values.push_back(values[0]);
      values.back()["seed"] = 77;
      set_values(group, values);
    }
  });
  is_written_anew();
  testing::write_record(runs.path(), run_of("angpt"), options,
                        {.summary = [](Json& s) { s["steps_digest"] = "other"; }});
  is_written_anew();
}

TEST_F(Bless, RefusesWhatItMust) {
  const auto refuses = [&](const std::string& text, const BlessOptions& how) {
    const std::string before = read_file(file);
    try {
      bless(input, runs.path(), file, how);
      ADD_FAILURE() << "blessed; expected: " << text;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
    EXPECT_EQ(read_file(file), before);
  };
  refuses("needs a reason", {});
  testing::write_record(runs.path(), run_of("angpt"), options, {.diverged = true});
  refuses("diverged", reason);
  refuses("./run_all.sh --tier cpu --only angpt.convergence", reason);
  auto other = options;
  other.numeric_class = "another class";
  testing::write_record(runs.path(), run_of("angpt"), other);
  input.tier = "smoke";
  refuses("several numeric classes", reason);
  input.tier = "cpu";
  std::filesystem::remove_all(runs.path(run_of("angpt").run_id));
  refuses("is absent", reason);
  testing::write_record(runs.path(), run_of("angpt"), options);
  input.canaries["gpt_plus"].digest = "digest of today";
  refuses("is stale", reason);
}

TEST_F(Bless, PiecesFromTwoMachinesMakeOneEntryThatIsOfAnotherClassToBoth) {
  auto other = options;
  other.numeric_class = "another class";
  for (const auto& run : input.runs)
    if (run.seed == 2) testing::write_record(runs.path(), run, other);
  file = baselines.path("measured/cpu/pieces.json");
  bless(input, runs.path(), file, reason);
  EXPECT_TRUE(read_json(file)["entries"].contains("another class + " + options.numeric_class));
  const CheckResult result = check();
  EXPECT_TRUE(result.green()) << result.text;
  EXPECT_NE(result.text.find("inside the prediction interval"), std::string::npos) << result.text;
  other_class(.5);
  expect_red("prediction interval");
}

TEST_F(Bless, AnExpectedDivergenceCanBeBlessedAndIsThenKept) {
  testing::write_record(runs.path(), run_of("angpt"), options, {.diverged = true});
  BlessOptions with = reason;
  with.may_diverge = {"angpt"};
  bless(input, runs.path(), file, with);
  EXPECT_TRUE(check().green()) << check().text;
  testing::write_record(runs.path(), run_of("angpt"), options);
  expect_red("committed diverged");
}

}  // namespace
}  // namespace normbench
