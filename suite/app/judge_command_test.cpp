// Judging and tuning where there is nothing to judge, or no folder to look for it.
#include "suite/app/testing/checkout.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;
using testing::kProgram;
using testing::ProcessResult;
using testing::run_program;

/// With $NORMBENCH_REQUIRE set for this call.
ProcessResult requiring(const std::string& words, const Checkout& checkout,
                        std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/env", "NORMBENCH_REQUIRE=" + words, kProgram,
                                       "--root", checkout.path()});
  return run_program(arguments);
}

TEST(Require, AClaimThatCannotBeAskedHereIsAnErrorInsteadOfASkip) {
  const Checkout checkout;
  const std::vector<std::string> claim = {"judge",    "--tier",  "gpu",     "--only",
                                          "ngpt.lgp", "--claim", "q1_helps"};
  EXPECT_EQ(checkout.normbench(claim).exit_code, 77);
  EXPECT_EQ(requiring("baseline", checkout, claim).exit_code, 77) << "a claim has no baseline";
  expect_error(requiring("data", checkout, claim), 3, "a data set is required and not prepared");
  // Of a tier whose data sets are committed nothing is missing but the runs.
  EXPECT_EQ(requiring("gpu,data,baseline", checkout,
                      {"judge", "--tier", "cpu", "--only", "ngpt.lgp", "--claim", "q1_helps"})
                .exit_code,
            77);
  if (std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/nvidiactl"))
    GTEST_SKIP() << "there is a GPU here";
  expect_error(requiring("gpu,data,baseline", checkout, claim), 3,
               "a GPU is required: there is no NVIDIA GPU");
}

TEST(Require, ALedgerThatIsSkippedForItsDataIsAnErrorToo) {
  const Checkout checkout;
  const std::vector<std::string> judge = {"judge", "--tier", "gpu", "--only", "ngpt.lgp"};
  EXPECT_EQ(checkout.normbench(judge).exit_code, 77);
  expect_error(requiring("data", checkout, judge), 3, "a data set is required and not prepared");
}

TEST(Runs, AFolderThatIsNoneIsNamed) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/suite/tables/sizes.json";
  const std::vector<std::vector<std::string>> commands = {{"judge"},
                                                          {"report"},
                                                          {"tune"},
                                                          {"bless", "--reason", "a test"},
                                                          {"judge", "--claim", "q1_helps"}};
  for (const auto& command : commands) {
    const auto with_runs = [&](const std::string& runs) {
      auto arguments = command;
      arguments.insert(arguments.end(), {"--tier", "cpu", "--only", "ngpt.lgp", "--runs", runs});
      return checkout.normbench(arguments);
    };
    expect_error(with_runs("/nonexistent"), 2, "no folder of records\n  where:    --runs /nonex");
    expect_error(with_runs(file), 2, "found:    a file");
  }
}

TEST(Tune, WithoutAnyTrialItPointsAtThePublishedOnes) {
  const Checkout checkout;
  const std::vector<std::string> tune = {"tune", "--tier", "cpu", "--only", "angpt.convergence"};
  const auto alone = checkout.normbench(tune);
  expect_error(alone, 2, "there are no trials to choose a rate from");
  EXPECT_EQ(alone.err.find("warning"), std::string::npos) << alone.err;
  EXPECT_EQ(alone.out, "");
  const std::string published = checkout.path() + "/results/published/angpt.convergence.cpu/runs";
  std::filesystem::create_directories(published);
  expect_error(checkout.normbench(tune), 2, "--runs " + published + " tunes by the published ones");
}

TEST(Tune, AnIncompleteSweepNamesTheTestsOfItsOwnTable) {
  const Checkout checkout;
  // One trial, or what looks like it, so that there is something to choose from.
  const std::string id = [&] {
    const auto plan =
        checkout.normbench({"plan", "--tier", "cpu", "--only", "angpt.constants", "--list"});
    std::istringstream lines(plan.out);
    for (std::string line; std::getline(lines, line);) {
      std::string first;
      if (line.find(".sweep.") == std::string::npos) continue;
      std::istringstream(line) >> first;
      return first;
    }
    return std::string();
  }();
  if (id.empty()) GTEST_FAIL() << "no trial is planned";
  write_json(checkout.path() + "/results/runs/" + id + "/summary.json", Json::object());
  expect_error(
      checkout.normbench({"tune", "--write", "--tier", "cpu", "--only", "angpt.constants"}), 2,
      "ctest --preset cpu -L kind.sweep -L table.angpt.constants$");
}

}  // namespace
}  // namespace normbench
