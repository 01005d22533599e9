// Bad input gets one clear message and the documented exit code, and leaves nothing half-done.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "suite/app/testing/process.h"
#include "suite/base/files.h"
#include "suite/base/json.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"

namespace normbench {
namespace {

using testing::ProcessResult;
using testing::run_program;
using testing::TemporaryFolder;

const std::string kProgram = NORMBENCH_PROGRAMS "/normbench";

ProcessResult normbench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kProgram, "--root", NORMBENCH_SOURCE_DIR});
  return run_program(arguments);
}

/// A checkout's tables and baselines under another root, so that a test may spoil them.
class Checkout {
 public:
  Checkout() {
    for (const char* part : {"suite/tables", "baselines"}) {
      std::filesystem::create_directories(folder_.path() + "/" + part);
      std::filesystem::copy(std::string(NORMBENCH_SOURCE_DIR) + "/" + part,
                            folder_.path() + "/" + part,
                            std::filesystem::copy_options::recursive |
                                std::filesystem::copy_options::overwrite_existing);
    }
  }
  std::string path() const { return folder_.path(); }
  ProcessResult normbench(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {kProgram, "--root", path()});
    return run_program(arguments);
  }
  Json table() const { return read_json(path() + "/suite/tables/angpt/convergence.json"); }
  void set_table(const Json& table) const {
    write_json(path() + "/suite/tables/angpt/convergence.json", table);
  }

 private:
  TemporaryFolder folder_;
};

void expect_error(const ProcessResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
}

TEST(CommandLine, AnUnknownOptionOrCommandIsWrongUse) {
  EXPECT_EQ(normbench({"plan", "--teir", "smoke"}).exit_code, 2);
  EXPECT_EQ(normbench({"--help"}).exit_code, 0);
}

TEST(CommandLine, AnUnknownCommandIsNamedWithTheNearest) {
  expect_error(normbench({"pln"}), 2, "did you mean \"plan\"?");
  expect_error(normbench({"frobnicate", "--tier", "smoke"}), 2, "\"frobnicate\"");
  expect_error(normbench({"data", "lits"}), 2, "did you mean \"list\"?");
  expect_error(normbench({}), 2, "subcommand is required");
}

TEST(CommandLine, AnEmptyValueDoesNotSelectEverything) {
  for (const char* option : {"--tier", "--only"}) {
    expect_error(normbench({"plan", option, ""}), 2, option);
    expect_error(normbench({"bless", "--reason", "r", option, ""}), 2, option);
    expect_error(normbench({"data", "prepare", option, ""}), 2, option);
  }
  expect_error(normbench({"judge", "--tier", "smoke", "--claim", ""}), 2, "--claim");
  expect_error(normbench({"bless", "--tier", "smoke", "--reason", ""}), 2, "--reason");
}

TEST(CommandLine, AnOptionThatWouldBeIgnoredIsAnError) {
  const std::vector<std::vector<std::string>> commands = {
      {"judge", "--tier", "smoke", "--metric", "verdict"},
      {"judge", "--tier", "smoke", "--claim", "c", "--regression", "a"},
      {"judge", "--tier", "smoke", "--claim", "c", "--json", "file"},
      {"judge", "--tier", "smoke", "--regression", "a", "--json", "file"},
      {"plan", "--list", "--ctest", "file"},
      {"data", "prepare", "synthetic", "--tier", "smoke"},
      {"data", "prepare", "synthetic", "--only", "angpt"},
      {"data", "prepare", "synthetic", "--vocabulary", "500"},
      {"data", "prepare", "synthetic", "--validation-share", "0.1"},
      {"data", "prepare", "--name", "mine", "--tier", "smoke", "--text", "file"},
      {"data", "prepare", "--name", "mine", "--nanogpt", "folder", "--validation-share", "0.1"},
  };
  for (const auto& command : commands) {
    const auto result = normbench(command);
    EXPECT_EQ(result.exit_code, 2) << command.back();
    EXPECT_NE(result.err.find("--"), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.find("excludes") != std::string::npos ||
                result.err.find("requires") != std::string::npos)
        << result.err;
  }
}

TEST(CommandLine, APackageFileForTextThatComesFromNoneIsAnError) {
  const Checkout checkout;
  expect_error(checkout.normbench({"data", "prepare", "synthetic", "--deb", "a.txt"}), 2,
               "comes from no package");
  expect_error(checkout.normbench({"data", "prepare", "--tier", "smoke", "--only",
                                   "simplegpt.hessian", "--deb", "a.txt"}),
               2, "0 names");
}

TEST(CommandLine, ANumberOutOfRangeIsAShortMessage) {
  for (const char* value : {"-1", "x", "", "inf"}) {
    const auto result = normbench({"run", "name", "--checkpoint-seconds", value});
    expect_error(result, 2,
                 "--checkpoint-seconds: found: \"" + std::string(value) +
                     "\"; expected: a number, 0 or more");
    EXPECT_LT(result.err.size(), 200u) << result.err;
  }
}

/// Id and name of the first run that `plan --list` shows in this state.
std::pair<std::string, std::string> first_run(const ProcessResult& plan, const std::string& state) {
  std::istringstream lines(plan.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" " + state + " ") == std::string::npos) continue;
    std::string id;
    std::istringstream(line) >> id;
    return {id, line.substr(line.rfind(' ') + 1)};
  }
  ADD_FAILURE() << "no run is listed as " << state << "\n" << plan.out << plan.err;
  return {};
}

TEST(CommandLine, ThroughputNeedsAStepToTime) {
  expect_error(normbench({"throughput", "run.angpt.convergence.smoke.gcide_1k.angpt.16384.s0",
                          "--steps", "0"}),
               2, "--steps: found: \"0\"; expected: a number, 1 or more");
  expect_error(normbench({"throughput", "run.simplegpt.hessian.smoke.hessian_scaling.s0"}), 2,
               "no training steps");
}

TEST(CommandLine, ThroughputNeedsTheVocabularyOfADataSet) {
  const Checkout checkout;
  const auto plan =
      checkout.normbench({"plan", "--tier", "gpu", "--only", "angpt.convergence", "--list"});
  expect_error(checkout.normbench({"throughput", first_run(plan, "no data").second}), 2,
               "is not prepared");
}

TEST(CommandLine, AnEmptySelectionIsAnErrorWithTheNearestName) {
  expect_error(normbench({"plan", "--only", "angpt.convergance"}), 2,
               "did you mean \"angpt.convergence\"?");
  expect_error(normbench({"plan", "--tier", "smok"}), 2, "did you mean \"smoke\"?");
}

TEST(CommandLine, AnUnknownRunIsNamed) {
  expect_error(normbench({"run", "run.angpt.convergence.smoke.gcide_1k.angpt.16384.s99"}), 2,
               "did you mean \"run.angpt");
}

TEST(CommandLine, ABudgetThatIsNoWholeNumberOfStepsIsAnErrorBeforeAnythingRuns) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["token_budgets"][0] = 16385;
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2,
               "a multiple of 8 sequences x 64 tokens = 512");
}

TEST(CommandLine, AnUnknownArmInAClaimOrARateIsAnError) {
  const Checkout checkout;
  const Json good = checkout.table();
  Json claim = good, rate = good;
  claim["claims"][0]["challenger"] = "angtp";
  rate["tiers"]["smoke"]["settings"]["gcide_1k"]["peak_lr"]["angtp"] = Json::array({{16384, 0.01}});
  for (const Json& table : {claim, rate}) {
    checkout.set_table(table);
    expect_error(checkout.normbench({"plan"}), 2, "no such arm");
  }
}

TEST(CommandLine, AMistypedOptionOfAModelIsFoundWithTheNearestOne) {
  const Checkout checkout;
  Json table = checkout.table();
  table["arms"]["angpt"]["model_options"]["alpha_initt"] = 0.1;
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2, "did you mean \"alpha_init\"?");
}

TEST(CommandLine, AMistypedKeyOfATableIsFoundWithFileAndPath) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["sedes"] = {1};
  checkout.set_table(table);
  const auto result = checkout.normbench({"plan"});
  expect_error(result, 2, "convergence.json, at /tiers/smoke/settings/gcide_1k/sedes");
  EXPECT_NE(result.err.find("did you mean \"seeds\"?"), std::string::npos) << result.err;
}

TEST(CommandLine, ASweepThatUsesAVerdictSeedIsAnError) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["sweep"]["seeds"] = {0};
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2,
               "a seed of the sweep is also a seed of the verdict");
}

TEST(CommandLine, AnArmWithoutARateAtABudgetIsAnError) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["peak_lr"]["angpt"] = {{1024, 0.01},
                                                                         {16384, 0.01}};
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2, "no tuned learning rate");
}

/// Every slip that a run or a judgement would trip over hours later.
TEST(CommandLine, ATableThatCannotBeRunOrJudgedIsAnErrorOfThePlan) {
  const Checkout checkout;
  const Json good = checkout.table();
  const std::string setting = "/tiers/smoke/settings/gcide_1k";
  struct Slip {
    std::string pointer;
    Json value;
    std::vector<std::string> words;
  };
  const std::vector<Slip> slips = {
      {"/arms/angpt/model_options/nu_alpha", "foo", {"/arms/angpt", "elementwise"}},
      {"/arms/angpt/probes", {"branch_rato"}, {"did you mean \"branch_ratio\"?"}},
      {"/arms/angpt/schedule_options/warmup_fraction", 1.5, {"/arms/angpt/schedule_options"}},
      {"/tiers/smoke/precision", "fp16", {"/tiers/smoke/precision", "bf16-mixed"}},
      {"/tiers/smoke/device", "tpu", {"/tiers/smoke/device"}},
      {"/tiers/smoke/threads", 0, {"/tiers/smoke/threads"}},
      {"/tiers/smoke/noise", {{"loss_sd", 0.1}}, {"/tiers/smoke/noise"}},
      {setting + "/dataset", "gcide_9k", {setting + "/dataset", "data prepare --name gcide_9k"}},
      {setting + "/clip_norm", 0.0, {setting + "/clip_norm"}},
      {setting + "/seeds", {0, 0}, {setting + "/seeds"}},
      {setting + "/peak_lr/angpt", Json::array(), {setting + "/peak_lr/angpt"}},
      {setting + "/peak_lr/angpt/0/1", -1.0, {setting + "/peak_lr/angpt"}},
      {"/claims/0/rule", "speed_upp", {"/claims/0/rule", "did you mean \"speed_up\"?"}},
      {"/claims/0/challanger", "angpt", {"/claims/0/challanger", "did you mean \"challenger\"?"}},
      {"/claims/0/published", "/nowhere", {"/claims/0/published"}},
      {"/claims/0/datasets", {"gcide_1kk"}, {"/claims/0/datasets"}},
  };
  for (const auto& slip : slips) {
    Json table = good;
    table[Json::json_pointer(slip.pointer)] = slip.value;
    checkout.set_table(table);
    const auto result = checkout.normbench({"plan", "--tier", "smoke"});
    for (const auto& word : slip.words) expect_error(result, 2, word);
    expect_error(result, 2, "convergence.json");
  }
  checkout.set_table(good);
  EXPECT_EQ(checkout.normbench({"plan", "--tier", "smoke"}).exit_code, 0);
}

TEST(CommandLine, PublishedNumbersInAnUnknownFormatAreAnError) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/baselines/published/angpt.json";
  Json numbers = read_json(file);
  numbers["schema"] = "x";
  write_json(file, numbers);
  expect_error(checkout.normbench({"plan", "--tier", "smoke", "--only", "angpt.convergence"}), 2,
               "angpt.json, at /schema");
}

TEST(CommandLine, ANumberThatJsonCannotHoldIsAnErrorWithItsLine) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/suite/tables/angpt/convergence.json";
  std::string text = read_file(file);
  const std::string key = "\"clip_norm\": ";
  const size_t at = text.find(key);
  ASSERT_NE(at, std::string::npos);
  text.insert(at + key.size(), "1e999, \"x\": ");
  write_file_atomically(file, text);
  expect_error(checkout.normbench({"plan"}), 2, "convergence.json:");
}

TEST(CommandLine, APatternOfLayersIsReadBeforeAnythingRuns) {
  const Checkout checkout;
  Json table = checkout.table();
  Json& arm = table["arms"]["angpt"];
  arm["model"] = "ngpt_hybrid";
  for (const char* pattern : {"", "MX"}) {
    arm["model_options"] = {{"pattern", pattern}};
    checkout.set_table(table);
    expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2,
                 "/arms/angpt/model_options/pattern");
  }
}

TEST(CommandLine, ACrossingIsNotReadOffOneBudget) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/suite/tables/ngpt/token_ratio.json";
  Json table = read_json(file);
  auto& settings = table["tiers"]["smoke"]["settings"];
  ASSERT_EQ(settings.size(), 1u);
  Json& budgets = settings.begin().value()["token_budgets"];
  budgets = Json::array({budgets.front()});
  write_json(file, table);
  expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2, "on one budget");
}

std::vector<std::string> regression_check(const std::string& tier, const std::string& table,
                                          const std::string& arm, const std::string& metric) {
  return {"judge", "--tier", tier, "--only", table, "--regression", arm, "--metric", metric};
}

TEST(CommandLine, WithoutABaselineTheSmokeTierIsRedAndALongTierIsSkipped) {
  const Checkout checkout;
  std::filesystem::remove_all(checkout.path() + "/baselines/measured");
  const auto check = [&](const std::string& tier) {
    return regression_check(tier, "angpt.convergence", "angpt", "validation_loss");
  };
  EXPECT_EQ(checkout.normbench(check("smoke")).exit_code, 1);
  std::filesystem::create_directories(checkout.path() +
                                      "/results/published/angpt.convergence.cpu/runs");
  const auto skipped = checkout.normbench(check("cpu"));
  EXPECT_EQ(skipped.exit_code, 77) << skipped.out << skipped.err;
  EXPECT_NE(skipped.out.find("bless --tier cpu --only angpt.convergence"), std::string::npos)
      << skipped.out;
  EXPECT_EQ(skipped.out.find("--runs"), std::string::npos)
      << "what is published is no whole tier: " << skipped.out;
  auto required = check("cpu");
  required.insert(required.begin(), {"/usr/bin/env", "NORMBENCH_REQUIRE=baseline", kProgram,
                                     "--root", checkout.path()});
  EXPECT_EQ(run_program(required).exit_code, 1);
}

TEST(CommandLine, AMistypedCheckIsNoSkippedOne) {
  const Checkout checkout;
  std::filesystem::remove_all(checkout.path() + "/baselines/measured");
  expect_error(
      checkout.normbench(regression_check("cpu", "angpt.convergence", "angtp", "validation_loss")),
      2, "did you mean \"angpt\"?");
  expect_error(checkout.normbench(regression_check("cpu", "angpt.convergence", "angpt", "loss")), 2,
               "no regression check of this metric");
}

TEST(CommandLine, AMistypedVariableIsAnError) {
  const auto with = [](const std::string& variable) {
    return run_program({"/usr/bin/env", variable, kProgram, "plan", "--tier", "smoke"},
                       NORMBENCH_SOURCE_DIR);
  };
  expect_error(with("NORMBENCH_REQUIRE=gpu,baselin"), 2, "did you mean \"baseline\"?");
  expect_error(with("NORMBENCH_ROOT="), 2, "NORMBENCH_ROOT");
  EXPECT_EQ(with("NORMBENCH_REQUIRE=gpu,baseline").exit_code, 0);
}

TEST(CommandLine, ATableThatCannotBeReadDoesNotTakeTheGateOfAnother) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/suite/tables/ngpt/lgp.json", "{");
  const auto result = checkout.normbench(
      regression_check("smoke", "angpt.convergence", "angpt", "validation_loss"));
  EXPECT_EQ(result.exit_code, 1) << "red, for want of records: " << result.err;
  EXPECT_NE((result.out + result.err).find("ngpt.lgp is not counted"), std::string::npos)
      << result.out << result.err;
}

TEST(CommandLine, AGpuTierWithoutGpuAndRecordsIsSkippedVisibly) {
  if (std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/nvidiactl"))
    GTEST_SKIP() << "there is a GPU here";
  const Checkout checkout;
  const auto check =
      checkout.normbench(regression_check("gpu", "angpt.convergence", "angpt", "validation_loss"));
  EXPECT_EQ(check.exit_code, 77) << check.err;
  EXPECT_NE(check.out.find("neither a GPU nor a record"), std::string::npos) << check.out;
  for (const char* command : {"judge", "report"}) {
    const auto ledger = checkout.normbench({command, "--tier", "gpu", "--only", "angpt"});
    EXPECT_EQ(ledger.exit_code, 77) << ledger.err;
    EXPECT_NE(ledger.out.find("no GPU for it on this machine"), std::string::npos) << ledger.out;
  }
}

/// Two records of a measurement, made here, in a second.
void measure(const Checkout& checkout) {
  for (const char* seed : {"0", "1"})
    ASSERT_EQ(
        checkout
            .normbench({"run", std::string("run.simplegpt.hessian.smoke.hessian_scaling.s") + seed})
            .exit_code,
        0);
}

std::vector<std::string> check_of_measurement() {
  return regression_check("smoke", "simplegpt.hessian", "hessian_scaling", "verdict");
}

/// Makes a whole record of a build that computed something else.
void make_stale(const std::string& folder) {
  size_t cut = 0;
  Json manifest = read_json(folder + "/manifest.json");
  manifest["numeric_digest"] = "of an older build";
  write_json(folder + "/manifest.json", manifest);
  write_json(folder + "/summary.json",
             sealed_summary(manifest, read_record_lines(folder + "/steps.jsonl.zst", &cut),
                            read_json(folder + "/summary.json")));
}

std::vector<std::string> folders_of(const std::string& runs) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(runs))
    folders.push_back(entry.path().string());
  return folders;
}

TEST(CommandLine, ARecordOfAnOlderBuildIsRedAlsoRightAfterTheRebuild) {
  const Checkout checkout;
  const std::string runs = checkout.path() + "/results/runs";
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  const auto check = [&] { return checkout.normbench(check_of_measurement()); };
  EXPECT_EQ(check().out.find("is stale"), std::string::npos) << check().out;
  for (const auto& folder : folders_of(runs)) make_stale(folder);
  // After a rebuild no canary is known, and the check must find out by itself.
  std::filesystem::remove_all(checkout.path() + "/results/cache/canary");
  const auto result = check();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.out.find("is stale"), std::string::npos) << result.out;
}

TEST(CommandLine, ADamagedCanaryIsRunAgain) {
  const Checkout checkout;
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  const auto whole = checkout.normbench(check_of_measurement());
  const std::string canaries = checkout.path() + "/results/cache/canary";
  for (const char* damaged : {"{", "[]"}) {
    int spoilt = 0;
    for (const auto& file : folders_of(canaries))
      if (file.ends_with(".json")) {
        write_file_atomically(file, damaged);
        ++spoilt;
      }
    ASSERT_GT(spoilt, 0);
    const auto again = checkout.normbench(check_of_measurement());
    EXPECT_EQ(again.exit_code, whole.exit_code) << damaged << again.err;
    EXPECT_EQ(again.out, whole.out) << damaged;
  }
}

TEST(CommandLine, ACheckEndsAsItsCanariesDo) {
  const Checkout checkout;
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  // The program beside a worker that does nothing but end.
  const TemporaryFolder programs(TemporaryFolder::kDisk);
  const std::string program = programs.path("normbench"),
                    worker = programs.path("normbench-worker");
  std::filesystem::copy_file(kProgram, program);
  std::filesystem::copy_file(NORMBENCH_PROGRAMS "/registry.json", programs.path("registry.json"));
  for (const int code : {2, 3, 130}) {
    write_file_atomically(worker, "#!/bin/sh\nexit " + std::to_string(code) + "\n");
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    auto check = check_of_measurement();
    check.insert(check.begin(), {program, "--root", checkout.path()});
    const auto result = run_program(check);
    EXPECT_EQ(result.exit_code, code) << result.out << result.err;
  }
}

/// What a test must find unchanged: every file below a folder, with its bytes.
std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path().string());
  return files;
}

TEST(CommandLine, PublishingNeverReplacesARecordByOneThatCannotBeBelieved) {
  const Checkout checkout;
  const std::string own = checkout.path() + "/results/runs",
                    published = checkout.path() + "/results/published/simplegpt.hessian.smoke";
  const auto publish = [&] {
    return checkout.normbench({"publish", "--tier", "smoke", "--only", "simplegpt.hessian"});
  };
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  const auto first = publish();
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto good = files_below(published);
  ASSERT_EQ(good.size(), 2u * 3 + 2) << "two records, the ledger as text and as JSON";

  const std::string record = folders_of(own).front();
  const std::string steps = record + "/steps.jsonl.zst", whole = read_file(steps);
  write_file_atomically(steps, whole.substr(0, whole.size() / 2));
  expect_error(publish(), 2, "is damaged");
  EXPECT_EQ(files_below(published), good);

  write_file_atomically(steps, whole);
  make_stale(record);
  const auto stale = publish();
  expect_error(stale, 2, "is stale");
  expect_error(stale, 2, "run.simplegpt.hessian.smoke.hessian_scaling.s");
  EXPECT_EQ(files_below(published), good);

  std::filesystem::remove_all(own);  // absent is fine: published earlier
  const auto kept = publish();
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_NE(kept.out.find("2 of them published before"), std::string::npos) << kept.out;
  EXPECT_EQ(files_below(published), good);

  make_stale(folders_of(published + "/runs").front());
  expect_error(publish(), 2, "is stale");
  EXPECT_EQ(read_file(published + "/ledger.json"), good.at(published + "/ledger.json"));
}

TEST(CommandLine, APublishedRecordThatIsNotWholeIsPassedOver) {
  const Checkout checkout;
  const std::string results = checkout.path() + "/results", own = results + "/runs",
                    published = results + "/published/some.table.smoke/runs";
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  std::filesystem::create_directories(published);
  std::filesystem::rename(own, published);
  const std::string record = folders_of(published).front();
  const std::string name = read_json(record + "/manifest.json").at("name");
  const auto run = [&] {
    std::filesystem::remove_all(own);
    const auto result = checkout.normbench({"run", name});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  };
  EXPECT_NE(run().out.find("finished before"), std::string::npos);
  const auto whole = files_below(record);
  for (const char* file : {"/manifest.json", "/steps.jsonl.zst", "/summary.json"})
    for (const char* garbage : {"absent", "[]", "{"}) {
      if (std::string(file) == "/summary.json" && std::string(garbage) == "absent") continue;
      if (std::string(garbage) == "absent")
        std::filesystem::remove(record + file);
      else
        write_file_atomically(record + file, garbage);
      const auto anew = run();
      EXPECT_EQ(anew.out.find("finished before"), std::string::npos) << file << " " << garbage;
      EXPECT_NE(anew.err.find("warning: "), std::string::npos) << file << " " << garbage;
      for (const auto& [path, bytes] : whole) write_file_atomically(path, bytes);
    }
}

TEST(CommandLine, BlessingWritesEveryBaselineOrNone) {
  const Checkout checkout;
  // Of the tables left, the first is fit and the second has no records.
  std::filesystem::remove(checkout.path() + "/suite/tables/simplegpt/convergence.json");
  for (const std::string task : {"scaling", "dominance", "spike", "network", "identities"})
    for (const std::string seed : {"0", "1"})
      ASSERT_EQ(
          checkout.normbench({"run", "run.simplegpt.hessian.smoke.hessian_" + task + ".s" + seed})
              .exit_code,
          0)
          << task;
  const std::string baselines = checkout.path() + "/baselines/measured",
                    file = baselines + "/smoke/simplegpt.hessian.json";
  std::filesystem::remove_all(baselines);
  const auto bless = [&](const std::string& only) {
    return checkout.normbench({"bless", "--tier", "smoke", "--only", only, "--reason", "a test"});
  };
  expect_error(bless("simplegpt"), 2, "not a set of records");
  EXPECT_FALSE(std::filesystem::exists(baselines));

  const auto alone = bless("simplegpt.hessian");
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_TRUE(alone.out.starts_with(file + ": class ")) << alone.out;
  EXPECT_EQ(read_json(file).at("entries").size(), 1u);
  EXPECT_EQ(bless("simplegpt.hessian").exit_code, 0) << "over the one that is there";
  for (const auto& left : folders_of(checkout.path() + "/results/cache"))
    EXPECT_EQ(left.find("bless"), std::string::npos) << left;
  write_file_atomically(file, "{");
  expect_error(bless("simplegpt.hessian"), 2, file);
}

TEST(CommandLine, TuneWritesOnlyRatesThatARunTrainsWith) {
  const Checkout checkout;
  const auto tune = [&](const std::string& tier, const std::string& table,
                        const std::string& runs) {
    return checkout.normbench({"tune", "--write", "--tier", tier, "--only", table, "--runs", runs});
  };
  const std::string file = checkout.path() + "/suite/tables/simplegpt/lr_stability.json",
                    before = read_file(file);
  expect_error(tune("cpu", "simplegpt.lr_stability",
                    NORMBENCH_SOURCE_DIR "/results/published/simplegpt.lr_stability.cpu/runs"),
               2, "no rate is wanted");
  EXPECT_EQ(read_file(file), before);
  expect_error(tune("smoke", "simplegpt.hessian", checkout.path()), 2, "plans no sweep");
}

TEST(CommandLine, NoRecordsIsAMessageAndNotAnEmptyLedger) {
  const Checkout checkout;
  expect_error(checkout.normbench({"judge", "--tier", "smoke"}), 2,
               "there are no records to judge");
  const std::string published = checkout.path() + "/results/published/angpt.convergence.cpu/runs";
  std::filesystem::create_directories(published);
  expect_error(checkout.normbench({"judge", "--tier", "cpu", "--only", "angpt.convergence"}), 2,
               "--runs " + published + " judges the published ones");
}

TEST(CommandLine, ThePlanCountsAPublishedRecordAsFinished) {
  const Checkout checkout;
  const auto plan = [&] {
    return checkout.normbench({"plan", "--tier", "cpu", "--only", "ngpt.lgp", "--list"});
  };
  const std::string id = first_run(plan(), "pending").first, results = checkout.path() + "/results";
  write_json(results + "/published/some.other.cpu/runs/" + id + "/summary.json", Json::object());
  const auto counted = plan();
  EXPECT_NE(counted.out.find(" 1 finished, 1 of them published"), std::string::npos) << counted.out;
  EXPECT_EQ(first_run(counted, "published").first, id);
  // Half a record of our own: the run goes on with that one.
  write_json(results + "/runs/" + id + "/manifest.json", Json::object());
  EXPECT_EQ(first_run(plan(), "pending").first, id);
}

/// A data set whose sidecar was cut.
void cut_sidecar(const Checkout& checkout, const std::string& name) {
  write_file_atomically(checkout.path() + "/results/cache/datasets/" + name + "/dataset.json",
                        "{\"sch");
}

TEST(CommandLine, ACutSidecarStopsNeitherPlanNorJudgeNorItsRepair) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["dataset"] = "synthetic";
  checkout.set_table(table);
  const auto call = [&](std::vector<std::string> command) {
    command.insert(command.end(), {"--tier", "smoke", "--only", "angpt.convergence"});
    return checkout.normbench(command);
  };
  const auto planned = call({"plan", "--list"}),
             judged = call({"judge", "--claim", "angpt_speed_up"});
  cut_sidecar(checkout, "synthetic");
  const auto plan = call({"plan", "--list"}), judge = call({"judge", "--claim", "angpt_speed_up"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out, planned.out) << "the committed digests name the runs";
  EXPECT_NE(plan.err.find("normbench data prepare --again synthetic"), std::string::npos)
      << plan.err;
  EXPECT_EQ(judge.exit_code, judged.exit_code) << judge.err;
  EXPECT_EQ(judge.out, judged.out);
  const auto prepared = call({"data", "prepare"});
  EXPECT_EQ(prepared.exit_code, 0) << prepared.err;
  const auto verified = checkout.normbench({"data", "verify", "synthetic"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST(CommandLine, VerifyPrintsDigestsAndGoesOnAfterADamagedSidecar) {
  const Checkout checkout;
  const auto prepared = checkout.normbench({"data", "prepare", "synthetic"});
  const Json sidecar =
      read_json(checkout.path() + "/results/cache/datasets/synthetic/dataset.json");
  const auto digest = [&](const char* split) {
    return sidecar.at(split).at("digest").get<std::string>();
  };
  const std::string digests = "digests of the tokens: " + digest("train") + " (training), " +
                              digest("validation") + " (validation)";
  EXPECT_NE(prepared.err.find(digests), std::string::npos) << prepared.err;
  cut_sidecar(checkout, "cut");
  const auto verified = checkout.normbench({"data", "verify"});
  EXPECT_EQ(verified.exit_code, 1) << verified.err;
  for (const auto& words :
       std::vector<std::string>{"cut: not valid JSON", "normbench data prepare --again cut",
                                "synthetic: whole; " + digests})
    EXPECT_NE(verified.out.find(words), std::string::npos) << verified.out;
  expect_error(checkout.normbench({"data", "verify", "synthetik"}), 2,
               "did you mean \"synthetic\"?");
}

TEST(CommandLine, EveryPatternOfShardsMatchesAFile) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/t_train.bin", "tokens");
  expect_error(checkout.normbench({"data", "prepare", "--name", "mine", "--llmc-shards",
                                   checkout.path() + "/t_*.bin", checkout.path() + "/nope.bin"}),
               2, "nope.bin");
}

TEST(CommandLine, ATableThatOnlyMeasuresNeedsNoText) {
  const Checkout checkout;
  const auto none =
      checkout.normbench({"data", "prepare", "--tier", "smoke", "--only", "simplegpt.hessian"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_NE(none.out.find("needs no data set"), std::string::npos) << none.out;
}

TEST(CommandLine, AFullDiskIsAMachineErrorAndTheNextCallGoesOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  const Checkout checkout;
  const std::string results = checkout.path() + "/results";
  std::filesystem::create_directories(results);
  if (::mount("tmpfs", results.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mounting is not allowed here";
  const auto full = checkout.normbench({"data", "prepare", "synthetic"});
  ::umount(results.c_str());
  EXPECT_EQ(full.exit_code, 3) << full.err;
  const auto roomy = checkout.normbench({"data", "prepare", "synthetic"});
  EXPECT_EQ(roomy.exit_code, 0) << roomy.err;
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAMachineError) {
  const Checkout checkout;
  const std::vector<std::vector<std::string>> commands = {
      {"--help"}, {"plan"}, {"plan", "--list", "--tier", "smoke"}, {"data", "list"}, {"doctor"}};
  for (auto command : commands) {
    command.insert(command.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full", kProgram,
                                     "--root", checkout.path()});
    expect_error(run_program(command), 3, "machine error: ");
  }
}

/// The names in the last line of `normbench doctor`.
void expect_wanting(const ProcessResult& doctor, const std::vector<std::string>& names) {
  EXPECT_EQ(doctor.exit_code, 0) << doctor.err;
  const size_t last = doctor.out.find("can run: nothing, for want of: ");
  ASSERT_NE(last, std::string::npos) << doctor.out;
  for (const auto& name : names)
    EXPECT_NE(doctor.out.find(name, last), std::string::npos) << name << "\n" << doctor.out;
}

TEST(CommandLine, TheDoctorSaysForWantOfWhatNothingRuns) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/results", "no folder");
  // The program without the worker and its registry beside it.
  const TemporaryFolder programs(TemporaryFolder::kDisk);
  std::filesystem::copy_file(kProgram, programs.path("normbench"));
  expect_wanting(run_program({programs.path("normbench"), "--root", checkout.path(), "doctor"}),
                 {"worker", "registry", "results"});
}

TEST(CommandLine, TheDoctorLooksAtTheDiskOfTheResults) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  const Checkout checkout;
  const std::string results = checkout.path() + "/results";
  std::filesystem::create_directories(results);
  if (::mount("tmpfs", results.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mounting is not allowed here";
  const auto doctor = checkout.normbench({"doctor"});
  ::umount(results.c_str());
  expect_wanting(doctor, {"disk"});
}

TEST(CommandLine, PlanningStartsInMilliseconds) {
  // Not a timing test: the planner must not have loaded LibTorch, which is what would make it slow.
  const auto maps = run_program({"/bin/sh", "-c", "ldd \"$0\"", kProgram});
  ASSERT_EQ(maps.exit_code, 0) << maps.err;
  EXPECT_NE(maps.out.find("libstdc++"), std::string::npos) << maps.out;
  EXPECT_EQ(maps.out.find("libtorch"), std::string::npos) << maps.out;
}

}  // namespace
}  // namespace normbench
