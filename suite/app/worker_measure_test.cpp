// A measurement on a machine without the device that it is configured for: skipped, as a training
// run is, or red where a GPU is required. That it computes on the device is
// suite/measure/fold_inference_test.cpp's.
#include <gtest/gtest.h>

#include <filesystem>

#include "suite/app/testing/process.h"
#include "suite/base/errors.h"
#include "suite/base/json.h"
#include "suite/base/record_digest.h"

namespace normbench {
namespace {

using testing::run_program;
using testing::TemporaryFolder;

/// A measurement of the planner's kind; its canary is the same.
testing::ProcessResult measure(const TemporaryFolder& folder, const Json& config,
                               const std::string& required = "") {
  // No GPU is visible to the program, whatever the machine has.
  return run_program({"/usr/bin/env", "CUDA_VISIBLE_DEVICES=", "NORMBENCH_REQUIRE=" + required,
                      NORMBENCH_PROGRAMS "/normbench-worker", "run", "--name", "measure.test",
                      "--runs", folder.path() + "/runs", "--cache", folder.path() + "/cache",
                      "--config", canonical(config), "--canary", canonical(config)});
}

Json fold_on(const std::string& device) {
  const Json registry = read_json(NORMBENCH_PROGRAMS "/registry.json");
  Json options = registry.at("tasks").at("fold_inference").at("canary_options");
  return {{"task", "fold_inference"},
          {"options", options},
          {"device", device},
          {"threads", 1},
          {"seed", 0}};
}

TEST(WorkerMeasure, WithoutTheGpuOfItsTierItIsSkippedAndWritesNothing) {
  const TemporaryFolder folder;
  const auto result = measure(folder, fold_on("cuda"));
  EXPECT_EQ(result.exit_code, kExitSkipped) << result.err;
  EXPECT_NE(result.out.find("skipped, there is no usable GPU"), std::string::npos) << result.out;
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/runs"));
  EXPECT_EQ(measure(folder, fold_on("cuda"), "gpu").exit_code, kExitMachine);
}

TEST(WorkerMeasure, OnTheCpuItWritesARecordOfItsDevice) {
  const TemporaryFolder folder;
  const Json config = fold_on("cpu");
  const auto result = measure(folder, config);
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const std::string record = folder.path() + "/runs/" + run_id_of(config);
  EXPECT_EQ(read_json(record + "/summary.json").at("status"), "finished");
  EXPECT_EQ(read_json(record + "/manifest.json").at("config").at("device"), "cpu");
}

/// The task, which knows no run, is the one that says what is wrong.
TEST(WorkerMeasure, AnErrorOfItsOptionsNamesTheRun) {
  const TemporaryFolder folder;
  Json config = fold_on("cpu");
  config["options"]["sede"] = 1;
  const auto result = measure(folder, config);
  EXPECT_EQ(result.exit_code, kExitWrongUse);
  EXPECT_NE(result.err.find("measure.test cannot be run"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("sede"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace normbench
