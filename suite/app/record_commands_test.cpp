// Records and baselines between the commands: check, publish, bless, tune, judge, plan.
#include "suite/app/testing/checkout.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;
using testing::files_below;
using testing::first_run;
using testing::folders_of;
using testing::kProgram;
using testing::run_program;
using testing::TemporaryFolder;

std::vector<std::string> regression_check(const std::string& tier, const std::string& table,
                                          const std::string& arm, const std::string& metric) {
  return {"judge", "--tier", tier, "--only", table, "--regression", arm, "--metric", metric};
}

TEST(Records, WithoutABaselineTheSmokeTierIsRedAndALongTierIsSkipped) {
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

TEST(Records, AMistypedCheckIsNoSkippedOne) {
  const Checkout checkout;
  std::filesystem::remove_all(checkout.path() + "/baselines/measured");
  expect_error(
      checkout.normbench(regression_check("cpu", "angpt.convergence", "angtp", "validation_loss")),
      2, "did you mean \"angpt\"?");
  expect_error(checkout.normbench(regression_check("cpu", "angpt.convergence", "angpt", "loss")), 2,
               "no regression check of this metric");
}

TEST(Records, ATableThatCannotBeReadDoesNotTakeTheGateOfAnother) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/suite/tables/ngpt/lgp.json", "{");
  const auto result = checkout.normbench(
      regression_check("smoke", "angpt.convergence", "angpt", "validation_loss"));
  EXPECT_EQ(result.exit_code, 1) << "red, for want of records: " << result.err;
  EXPECT_NE((result.out + result.err).find("ngpt.lgp is not counted"), std::string::npos)
      << result.out << result.err;
}

TEST(Records, AGpuTierWithoutGpuAndRecordsIsSkippedVisibly) {
  if (std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/nvidiactl"))
    GTEST_SKIP() << "there is a GPU here";
  const Checkout checkout;
  const auto check =
      checkout.normbench(regression_check("gpu", "angpt.convergence", "angpt", "validation_loss"));
  EXPECT_EQ(check.exit_code, 77) << check.err;
  EXPECT_NE(check.out.find("no NVIDIA GPU on this machine, and there is no record"),
            std::string::npos)
      << check.out;
  for (const char* command : {"judge", "report"}) {
    const auto ledger = checkout.normbench({command, "--tier", "gpu", "--only", "angpt"});
    EXPECT_EQ(ledger.exit_code, 77) << ledger.err;
    EXPECT_NE(ledger.out.find("no NVIDIA GPU on this machine"), std::string::npos) << ledger.out;
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

TEST(Records, ARecordOfAnOlderBuildIsRedAlsoRightAfterTheRebuild) {
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

TEST(Records, ACheckThatKnowsItsCanariesWritesNothing) {
  const Checkout checkout;
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  const auto first = checkout.normbench(check_of_measurement());
  // As in a folder that is read-only, which root's rights would hide from a test.
  const std::string lock = checkout.path() + "/results/cache/canary/.lock";
  std::filesystem::remove(lock);
  std::filesystem::create_directory(lock);
  const auto again = checkout.normbench(check_of_measurement());
  EXPECT_EQ(again.exit_code, first.exit_code) << again.err;
  EXPECT_EQ(again.out, first.out);
}

TEST(Records, ADamagedCanaryIsRunAgain) {
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

TEST(Records, ACheckEndsAsItsCanariesDo) {
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

TEST(Records, PublishingNeverReplacesARecordByOneThatCannotBeBelieved) {
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
  EXPECT_NE(read_file(checkout.path() + "/results/published/README.md")
                .find("## simplegpt.hessian, tier smoke"),
            std::string::npos);

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

  ASSERT_NO_FATAL_FAILURE(measure(checkout));  // takes the published ones over
  const auto taken_over = publish();
  EXPECT_NE(taken_over.out.find("2 of them published before"), std::string::npos) << taken_over.out;
  EXPECT_EQ(files_below(published), good);
  std::filesystem::remove_all(own);

  const std::string stranger = published + "/runs/0123456789abcdef";
  std::filesystem::create_directory(stranger);
  const auto told = publish();
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.err.find("1 record in " + published + "/runs of no run"), std::string::npos)
      << told.err;
  EXPECT_NE(told.err.find("0123456789abcdef"), std::string::npos) << told.err;
  std::filesystem::remove(stranger);

  make_stale(folders_of(published + "/runs").front());
  expect_error(publish(), 2, "is stale");
  EXPECT_EQ(read_file(published + "/ledger.json"), good.at(published + "/ledger.json"));
}

TEST(Records, APublishedRecordThatIsNotWholeIsPassedOver) {
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

  // A second copy that is whole, published by a table whose name comes later.
  std::filesystem::copy(results + "/published/some.table.smoke",
                        results + "/published/some.table2.smoke",
                        std::filesystem::copy_options::recursive);
  write_file_atomically(record + "/manifest.json", "{");
  const auto second = run();
  EXPECT_NE(second.out.find("finished before"), std::string::npos) << second.out;
  EXPECT_NE(second.err.find("warning: "), std::string::npos) << second.err;
}

TEST(Records, BlessingWritesEveryBaselineOrNone) {
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

TEST(Records, TuneWritesOnlyRatesThatARunTrainsWith) {
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

// Which columns a measurement writes is known when it has been made.
TEST(Records, AClaimOnAColumnThatIsNotThereCostsItsOwnTableTheLedgerAlone) {
  const Checkout checkout;
  ASSERT_NO_FATAL_FAILURE(measure(checkout));
  const std::string file = checkout.path() + "/suite/tables/simplegpt/hessian.json",
                    other = checkout.path() + "/suite/tables/simplegpt/other.json",
                    page = checkout.path() + "/page.html";
  Json table = read_json(file);
  write_json(other, table);  // the same runs, with claims that can be judged
  table["claims"][0]["x"] = "weight_nrom";
  write_json(file, table);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"judge"}, {"report", "--out", page}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--tier", "smoke", "--only", "simplegpt"});
    const auto result = checkout.normbench(arguments);
    expect_error(result, 2, "did you mean \"weight_norm\"?");
    EXPECT_NE(result.err.find("of simplegpt.hessian, tier smoke"), std::string::npos) << result.err;
    EXPECT_EQ(result.out.find("simplegpt.other, tier smoke") != std::string::npos,
              command.front() == "judge");
  }
  EXPECT_NE(read_file(page).find("simplegpt.other"), std::string::npos);
}

TEST(Records, NoRecordsIsAMessageAndNotAnEmptyLedger) {
  const Checkout checkout;
  expect_error(checkout.normbench({"judge", "--tier", "smoke"}), 2,
               "there are no records to judge");
  const std::string published = checkout.path() + "/results/published/angpt.convergence.cpu/runs";
  std::filesystem::create_directories(published);
  expect_error(checkout.normbench({"judge", "--tier", "cpu", "--only", "angpt.convergence"}), 2,
               "--runs " + published + " judges the published ones");
}

TEST(Records, ThePlanCountsAPublishedRecordAsFinished) {
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
  // With a checkpoint (64 steps of 256 or more), only the rest of it is left.
  const auto left = [](const std::string& said) {
    return said.substr(0, said.find(" left on")).substr(said.find("finished"));
  };
  const std::string whole = left(plan().out);
  write_file_atomically(results + "/runs/" + id + "/checkpoint_00000064.safetensors", "");
  const auto begun = plan();
  EXPECT_EQ(first_run(begun, "begun").first, id);
  EXPECT_NE(begun.out.find(", 1 begun, "), std::string::npos) << begun.out;
  EXPECT_NE(left(begun.out), whole);
}

}  // namespace
}  // namespace normbench
