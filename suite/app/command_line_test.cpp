// Options and commands: bad input gets one clear message and the documented exit code.
#include "suite/app/testing/checkout.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;
using testing::first_run;
using testing::kProgram;
using testing::normbench;
using testing::run_program;

TEST(CommandLine, AnUnknownOptionOrCommandIsWrongUse) {
  expect_error(
      normbench({"plan", "--teir", "smoke"}), 2,
      "unknown option of plan\n  found:    \"--teir\"\n  to do:    did you mean \"--tier\"?");
  expect_error(normbench({"plan", "--teir=smoke"}), 2, "did you mean \"--tier\"?");
  expect_error(normbench({"--foo"}), 2, "unknown option of normbench\n  found:    \"--foo\"");
  expect_error(normbench({"--foo", "plan"}), 2, "\"--foo\"");
  expect_error(normbench({"data", "list", "--foo"}), 2, "list --help lists its options");
  expect_error(normbench({"plan", "--root", "x"}), 2,
               "it stands before the command, as in normbench --root ... plan");
  expect_error(normbench({"--tier", "smoke", "plan"}), 2,
               "it stands after the command, as in normbench plan --tier");
  // What ends the options is none itself.
  expect_error(normbench({"run", "--checkpoint-seconds", "x", "--", "A"}), 2,
               "--checkpoint-seconds: found: \"x\"");
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
  expect_error(normbench({"parity", ""}), 2, "files: found: \"\"");
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

TEST(CommandLine, AFolderIsNoFileToWrite) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const std::string text = "found: the folder \"" + folder + "\"; expected: a file to write";
  for (const auto& option :
       {std::vector<std::string>{"report", "--out"}, {"judge", "--json"}, {"plan", "--ctest"}}) {
    expect_error(normbench({option[0], option[1], folder}), 2, option[1] + ": " + text);
    expect_error(normbench({option[0], option[1], ""}), 2, option[1] + ": found: \"\"");
  }
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

TEST(CommandLine, AWholeNumberHasTwoEndsAndOneSpelling) {
  const auto refusal = [](const std::string& option, const std::string& value,
                          const std::string& most) {
    return option + ": found: \"" + value + "\"; expected: a whole number from 1 to " + most;
  };
  for (const char* steps : {"0", "-1", "1000001", "9223372036854775800", "9223372036854775807",
                            "99999999999999999999", "010", "0x10", "1e3", "2.0", "+2", ""}) {
    const auto result = normbench({"throughput", "name", "--steps", steps});
    expect_error(result, 2, refusal("--steps", steps, "1000000"));
    EXPECT_LT(result.err.size(), 200u) << result.err;
  }
  for (const char* steps : {"0", "99999999999999999999"})
    expect_error(run_program({NORMBENCH_PROGRAMS "/normbench-worker", "throughput", "--config",
                              "{}", "--steps", steps}),
                 2, refusal("--steps", steps, "1000000"));
  for (const char* vocabulary : {"0", "-1", "1000001", "99999999999999999999"})
    expect_error(normbench({"data", "prepare", "--name", "mine", "--text", "a.txt", "--vocabulary",
                            vocabulary}),
                 2, refusal("--vocabulary", vocabulary, "1000000"));
}

TEST(CommandLine, ThePlanSaysWhatEachTextCanShow) {
  const std::string plan = normbench({"plan", "--tier", "cpu", "--only", "angpt.convergence"}).out;
  EXPECT_NE(plan.find("gcide_1k: 5 seeds tell a speed-up of 43 % from none"), std::string::npos)
      << plan;
  EXPECT_NE(plan.find("prose_1k: 5 seeds tell a speed-up of 9 % from none"), std::string::npos)
      << plan;
}

TEST(CommandLine, ThePlanKeepsTheHoursOfACoreAndOfAGpuApart) {
  const Checkout checkout;
  const auto plan = checkout.normbench({"plan", "--only", "angpt.inference_folding"});
  for (const char* words : {" on one core (a guess: ", " on one core and ", " on one GPU left\n"})
    EXPECT_NE(plan.out.find(words), std::string::npos) << words << "\n" << plan.out;
}

TEST(CommandLine, ThroughputTimesTheStepsOfATraining) {
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

TEST(CommandLine, AMistypedVariableIsAnError) {
  const auto with = [](const std::string& variable) {
    return run_program({"/usr/bin/env", variable, kProgram, "plan", "--tier", "smoke"},
                       NORMBENCH_SOURCE_DIR);
  };
  expect_error(with("NORMBENCH_REQUIRE=gpu,baselin"), 2, "did you mean \"baseline\"?");
  expect_error(with("NORMBENCH_ROOT="), 2, "NORMBENCH_ROOT");
  EXPECT_EQ(with("NORMBENCH_REQUIRE=gpu,baseline").exit_code, 0);
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

TEST(CommandLine, PlanningStartsInMilliseconds) {
  // Not a timing test: the planner must not have loaded LibTorch, which is what would make it slow.
  const auto maps = run_program({"/bin/sh", "-c", "ldd \"$0\"", kProgram});
  ASSERT_EQ(maps.exit_code, 0) << maps.err;
  EXPECT_NE(maps.out.find("libstdc++"), std::string::npos) << maps.out;
  EXPECT_EQ(maps.out.find("libtorch"), std::string::npos) << maps.out;
}

}  // namespace
}  // namespace normbench
