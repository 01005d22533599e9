// Bad input gets one clear message and the documented exit code, and leaves nothing half-done.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "suite/app/testing/process.h"
#include "suite/base/files.h"
#include "suite/base/json.h"

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
  EXPECT_EQ(normbench({"pln"}).exit_code, 2);
  EXPECT_EQ(normbench({"--help"}).exit_code, 0);
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
  Json table = checkout.table();
  table["claims"][0]["challenger"] = "angtp";
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2, "no such arm");
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

TEST(CommandLine, NoRecordsIsAMessageAndNotAnEmptyLedger) {
  const Checkout checkout;
  expect_error(checkout.normbench({"judge", "--tier", "smoke"}), 2,
               "there are no records to judge");
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

TEST(CommandLine, PlanningStartsInMilliseconds) {
  // Not a timing test: the planner must not have loaded LibTorch, which is what would make it slow.
  const auto maps = run_program({"/bin/sh", "-c", "ldd " + kProgram});
  EXPECT_EQ(maps.out.find("libtorch"), std::string::npos) << maps.out;
}

}  // namespace
}  // namespace normbench
