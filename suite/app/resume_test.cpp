// Same configuration, same bits: after kill -9 at any moment, after Ctrl-C, and beside other runs.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "data/dataset.h"
#include "data/sidecar.h"
#include "suite/app/testing/process.h"
#include "suite/app/testing/schema_check.h"
#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/json.h"
#include "suite/base/median.h"
#include "suite/base/random.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"
#include "suite/base/testing/small_disk.h"

namespace normbench {
namespace {

using testing::run_program;
using testing::start_program;
using testing::TemporaryFolder;
using testing::wait_for;

/// A run of the planner's kind, at the smallest size, on the generated corpus.
class Resume : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder(TemporaryFolder::kDisk);
    for (const auto& spec : read_data_specs(NORMBENCH_SOURCE_DIR "/suite/tables/data.json"))
      if (spec.name == "synthetic") prepare_dataset(spec, {.cache_folder = cache()});
    const Sidecar sidecar = read_sidecar(cache(), "synthetic");
    const Json registry = read_json(NORMBENCH_PROGRAMS "/registry.json");
    Json size = read_json(NORMBENCH_SOURCE_DIR "/suite/tables/sizes.json")["sizes"]["micro"];
    size.erase("note");
    size["vocabulary"] = sidecar.vocabulary;
    config_ = {{"model", "angpt"},
               {"model_options", registry["models"]["angpt"]["options"]},
               {"size", size},
               {"optimizer", "adamw"},
               {"optimizer_options", registry["optimizers"]["adamw"]["options"]},
               {"schedule", "cosine"},
               {"schedule_options", registry["schedules"]["cosine"]["options"]},
               {"peak_lr", 0.01},
               {"clip_norm", 1.0},
               {"token_budget", 40 * 8 * 32},
               {"batch_sequences", 8},
               {"micro_batch_sequences", 4},
               {"dataset", "synthetic"},
               {"train_digest", sidecar.train.digest},
               {"validation_digest", sidecar.validation.digest},
               {"validation_tokens", 1024},
               {"divergence", {{"loss_above", 20.0}}},
               {"precision", "fp32"},
               {"device", "cpu"},
               {"threads", 1},
               {"seed", 3}};
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string cache() { return folder_->path() + "/cache"; }
  static std::vector<std::string> command(const std::string& runs, const Json& config,
                                          const std::string& seconds = "0") {
    Json canary = config;  // any configuration can be a canary; the planner makes smaller ones
    canary["token_budget"] = 8 * 32;
    return {NORMBENCH_PROGRAMS "/normbench-worker",
            "run",
            "--name",
            "run.test",
            "--runs",
            runs,
            "--cache",
            cache(),
            "--checkpoint-seconds",
            seconds,
            "--config",
            canonical(config),
            "--canary",
            canonical(canary)};
  }
  static Json summary(const std::string& runs, const Json& config) {
    return read_json(runs + "/" + run_id_of(config) + "/summary.json");
  }
  /// What must be equal to the last bit.
  static std::string bits(const Json& summary) {
    return summary.at("validation_loss_bits").get<std::string>() +
           summary.at("steps_digest").get<std::string>() +
           summary.at("weights_digest").get<std::string>();
  }
  /// The bits of a run in one go.
  static std::string undisturbed(const Json& config) {
    const std::string runs = folder_->path() + "/undisturbed";
    const auto result = run_program(command(runs, config, "1000"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return bits(summary(runs, config));
  }
  static const std::string& undisturbed() {
    static const std::string value = undisturbed(config_);
    return value;
  }

  static TemporaryFolder* folder_;
  static Json config_;
};
TemporaryFolder* Resume::folder_ = nullptr;
Json Resume::config_;

TEST_F(Resume, TwentyFiveKillsAtRandomMomentsChangeNoBit) {
  const std::string runs = folder_->path() + "/killed";
  const std::string run_folder = runs + "/" + run_id_of(config_);
  const RandomStream moments(1, "kill moments");
  const auto half_written = [&] {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(run_folder, absent))
      if (entry.path().filename().string().find(".safetensors.tmp.") != std::string::npos)
        return true;
    return false;
  };
  int inside_checkpoint = 0, kills = 0;
  for (; kills < 25; ++kills) {
    const pid_t pid = start_program(command(runs, config_));
    const auto start = std::chrono::steady_clock::now();
    const auto since = [&] { return std::chrono::steady_clock::now() - start; };
    if (kills % 2 == 0) {
      // Inside a checkpoint: as soon as its temporary name is seen, but not before some steps were
      // done.
      const auto earliest =
          std::chrono::milliseconds(300 + static_cast<int>(200 * moments.uniform(kills)));
      while (since() < std::chrono::seconds(20) && (since() < earliest || !half_written()) &&
             !std::filesystem::exists(run_folder + "/summary.json"))
        std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(static_cast<int>(900 * moments.uniform(kills))));
    }
    ::kill(pid, SIGKILL);
    wait_for(pid);
    inside_checkpoint += half_written();
    if (std::filesystem::exists(run_folder + "/summary.json"))
      std::filesystem::remove(run_folder + "/summary.json");
  }
  EXPECT_GE(inside_checkpoint, 3) << "of 25 kills; the test is about these";
  const auto last = run_program(command(runs, config_));
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(bits(summary(runs, config_)), undisturbed());
}

TEST_F(Resume, AnInterruptedRunSaysSoAndGoesOnToTheSameBits) {
  const std::string runs = folder_->path() + "/interrupted";
  Json config = config_;
  config["token_budget"] =
      1500 * 8 * 32;  // seconds of work, so that the signal comes before the end
  const std::string folder = runs + "/" + run_id_of(config);
  // No checkpoint but the one that the signal asks for.
  const pid_t pid = start_program(command(runs, config, "1000"));
  const auto start = std::chrono::steady_clock::now();
  while (!std::filesystem::exists(folder + "/manifest.json") &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // some steps
  ::kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 130);
  EXPECT_FALSE(std::filesystem::exists(folder + "/summary.json"));
  const auto kept = read_record_lines(folder + "/steps.jsonl.zst").size();
  ASSERT_GT(kept, 0u) << "nothing was kept";
  ASSERT_LT(kept, 1500u) << "nothing was left to do";

  const auto rest = run_program(command(runs, config, "1000"));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE((rest.out + rest.err).find("goes on at step " + std::to_string(kept + 1) + " of 1500"),
            std::string::npos)
      << rest.out << rest.err;
  EXPECT_EQ(summary(runs, config).at("sessions"), 2);
  EXPECT_EQ(bits(summary(runs, config)), undisturbed(config));
  // The time of a step is that of all steps, not of those since the resume.
  std::vector<double> seconds;
  for (const auto& line : read_record_lines(folder + "/steps.jsonl.zst"))
    seconds.push_back(Json::parse(line).at("seconds"));
  EXPECT_EQ(summary(runs, config).at("step_seconds_median"), median(seconds));
}

TEST_F(Resume, AnInterruptedValidationGoesOnFromTheLastCheckpoint) {
  const std::string runs = folder_->path() + "/validation";
  Json config = config_;
  config["token_budget"] = 2 * 8 * 32;
  // A second of validation after the last step, in 500 batches.
  config["size"]["num_layers"] = 8;
  config["micro_batch_sequences"] = 1;
  config["validation_tokens"] = 500 * 32;
  const std::string folder = runs + "/" + run_id_of(config),
                    checkpoint = folder + "/checkpoint_000000000001.safetensors";
  const pid_t pid = start_program(command(runs, config));
  const auto start = std::chrono::steady_clock::now();
  while (!std::filesystem::exists(checkpoint) &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  // In the second step or in the validation: the signal does not end the steps any more.
  ::kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 130);
  EXPECT_FALSE(std::filesystem::exists(folder + "/summary.json"));
  ASSERT_TRUE(std::filesystem::exists(checkpoint));

  const auto rest = run_program(command(runs, config));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE((rest.out + rest.err).find("goes on at step 2 of 2"), std::string::npos) << rest.err;
  EXPECT_EQ(bits(summary(runs, config)), undisturbed(config));
}

/// Has the process replaced what a SIGINT does by default?
bool hears_signals(pid_t pid) {
  std::error_code gone;
  const std::string file = "/proc/" + std::to_string(pid) + "/status";
  if (!std::filesystem::exists(file, gone)) return false;
  const std::string status = read_file(file);
  const size_t at = status.find("SigCgt:");
  return at != std::string::npos &&
         (std::stoull(status.substr(at + 7), nullptr, 16) >> (SIGINT - 1)) % 2 == 1;
}

TEST_F(Resume, ASignalEndsATimingOfSteps) {
  const pid_t pid = start_program({NORMBENCH_PROGRAMS "/normbench-worker", "throughput", "--steps",
                                   "5000", "--config", canonical(config_)});
  const auto start = std::chrono::steady_clock::now();
  while (!hears_signals(pid) && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 130);
}

TEST_F(Resume, AModelThatNoMemoryHoldsIsAnErrorOfTheMachine) {
  Json config = config_;
  config["size"]["vocabulary"] = 1'000'000;
  config["size"]["width"] = 1'000'000;  // 4 TB of embeddings, of 32 GiB that the process may have
  const auto result = run_program({"/bin/sh", "-c", "ulimit -v 33554432 && exec \"$@\"", "sh",
                                   NORMBENCH_PROGRAMS "/normbench-worker", "throughput", "--steps",
                                   "1", "--config", canonical(config)});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("machine error: out of memory"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("Exception raised"), std::string::npos) << result.err;
}

TEST_F(Resume, AFullDiskInTheMiddleOfARunIsAMachineErrorAndTheRunGoesOn) {
  const std::string runs = folder_->path() + "/small_disk";
  const testing::SmallDisk disk(runs);
  if (!disk.mounted()) GTEST_SKIP() << "mounting is not allowed here";
  // A checkpoint after each step; the first ones fit, the one after them does not.
  const auto full = run_program(command(runs, config_));
  EXPECT_EQ(full.exit_code, kExitMachine) << full.err;
  EXPECT_NE(full.err.find("machine error: "), std::string::npos) << full.err;
  ASSERT_TRUE(disk.grow());
  const auto roomy = run_program(command(runs, config_));
  EXPECT_EQ(roomy.exit_code, 0) << roomy.err;
  EXPECT_EQ(bits(summary(runs, config_)), undisturbed());
}

TEST_F(Resume, APlaceThatIsNoFolderIsAMachineErrorBeforeAnythingIsTrained) {
  const std::string file = folder_->path() + "/no_folder";
  write_file_atomically(file, "bytes");
  const auto result = run_program(command(file + "/runs", config_));
  EXPECT_EQ(result.exit_code, kExitMachine) << result.err;
  EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("tokens/s"), std::string::npos) << result.out;
}

TEST_F(Resume, TwoRunsAtATimeGiveTheBitsOfOneAtATime) {
  const std::string runs = folder_->path() + "/parallel";
  Json other = config_;
  other["seed"] = 4;
  const pid_t first = start_program(command(runs, config_)),
              second = start_program(command(runs, other));
  ASSERT_EQ(wait_for(first), 0);
  ASSERT_EQ(wait_for(second), 0);
  EXPECT_EQ(bits(summary(runs, config_)), undisturbed());
  EXPECT_NE(bits(summary(runs, other)), undisturbed()) << "another seed must give other bits";
  const std::string folder = runs + "/" + run_id_of(config_);
  for (const char* part : {"manifest", "summary"}) {
    const std::string file = folder + "/" + part + ".json";
    EXPECT_EQ(testing::schema_faults(part, read_json(file), file), std::vector<std::string>{});
  }
}

TEST_F(Resume, ASecondProcessOnARunWaitsUntilTheFirstHasFinished) {
  const std::string runs = folder_->path() + "/waiting", said = folder_->path() + "/said";
  auto first = std::make_unique<FileLock>(runs + "/" + run_id_of(config_) + "/lock",
                                          /*wait=*/false, "the test");
  auto arguments = command(runs, config_);
  arguments.insert(arguments.begin(), {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2> '" + said + "'"});
  const pid_t second = start_program(arguments);
  const auto waits = [&] {
    return std::filesystem::exists(said) &&
           read_file(said).find("waiting for another process") != std::string::npos;
  };
  const auto start = std::chrono::steady_clock::now();
  while (!waits() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(waits()) << read_file(said);
  EXPECT_FALSE(std::filesystem::exists(runs + "/" + run_id_of(config_) + "/manifest.json"));
  first.reset();
  EXPECT_EQ(wait_for(second), 0) << read_file(said);
  EXPECT_EQ(bits(summary(runs, config_)), undisturbed());
}

TEST_F(Resume, AFinishedRunIsReusedAndADamagedOneIsDoneAnew) {
  const std::string runs = folder_->path() + "/reused";
  ASSERT_EQ(run_program(command(runs, config_)).exit_code, 0);
  const auto again = run_program(command(runs, config_));
  EXPECT_NE(again.out.find("finished before"), std::string::npos) << again.out;
  const std::string file = runs + "/" + run_id_of(config_) + "/summary.json";
  Json edited = read_json(file);
  edited["validation_loss"] = 1.0;
  write_json(file, edited);
  const auto repaired = run_program(command(runs, config_));
  EXPECT_NE(repaired.err.find("done anew"), std::string::npos) << repaired.err;
  EXPECT_EQ(bits(summary(runs, config_)), undisturbed());
}

TEST_F(Resume, DivergenceIsAResult) {
  const std::string runs = folder_->path() + "/diverged";
  Json config = config_;
  config["divergence"]["loss_above"] = 1.0;
  const auto result = run_program(command(runs, config));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(summary(runs, config).at("status"), "diverged");
  EXPECT_EQ(summary(runs, config).at("diverged_at_step"), 1);
}

TEST_F(Resume, ACutShardIsNamedAndNothingIsTrained) {
  const TemporaryFolder other;
  std::filesystem::copy(cache(), other.path(), std::filesystem::copy_options::recursive);
  std::string shard;
  for (const auto& entry :
       std::filesystem::directory_iterator(other.path() + "/datasets/synthetic"))
    if (entry.path().filename().string().starts_with("train")) shard = entry.path().string();
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 100);
  auto arguments = command(folder_->path() + "/cut", config_);
  arguments[7] = other.path();
  const auto result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(std::filesystem::path(shard).filename().string()), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace normbench
