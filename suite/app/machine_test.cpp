// What a machine lacks: room on the disk, a place for results, programs.
#include "suite/app/testing/checkout.h"
#include "suite/base/testing/small_disk.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;
using testing::kProgram;
using testing::ProcessResult;
using testing::run_program;
using testing::SmallDisk;
using testing::TemporaryFolder;

TEST(Machine, AFullDiskIsAMachineErrorAndTheNextCallGoesOn) {
  const Checkout checkout;
  {
    const SmallDisk disk(checkout.path() + "/results");
    if (!disk.mounted()) GTEST_SKIP() << "mounting is not allowed here";
    const auto full = checkout.normbench({"data", "prepare", "synthetic"});
    EXPECT_EQ(full.exit_code, 3) << full.err;
  }
  const auto roomy = checkout.normbench({"data", "prepare", "synthetic"});
  EXPECT_EQ(roomy.exit_code, 0) << roomy.err;
}

/// The names in the last line of `normbench doctor`, which says so with its exit code too.
void expect_wanting(const ProcessResult& doctor, const std::vector<std::string>& names) {
  EXPECT_EQ(doctor.exit_code, 3) << doctor.out << doctor.err;
  const size_t last = doctor.out.find("can run: nothing, for want of: ");
  ASSERT_NE(last, std::string::npos) << doctor.out;
  for (const auto& name : names)
    EXPECT_NE(doctor.out.find(name, last), std::string::npos) << name << "\n" << doctor.out;
}

TEST(Machine, TheDoctorSaysForWantOfWhatNothingRuns) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/results", "no folder");
  // The program without the worker and its registry beside it.
  const TemporaryFolder programs(TemporaryFolder::kDisk);
  std::filesystem::copy_file(kProgram, programs.path("normbench"));
  expect_wanting(run_program({programs.path("normbench"), "--root", checkout.path(), "doctor"}),
                 {"worker", "registry", "results"});
}

TEST(Machine, TheDoctorLooksAtTheDiskOfTheResults) {
  const Checkout checkout;
  const SmallDisk disk(checkout.path() + "/results");
  if (!disk.mounted()) GTEST_SKIP() << "mounting is not allowed here";
  expect_wanting(checkout.normbench({"doctor"}), {"disk"});
}

TEST(Machine, AGpuHelpsOnlyABuildThatHasCodeForIt) {
  const Checkout checkout;
  const TemporaryFolder programs(TemporaryFolder::kDisk);
  std::filesystem::copy_file(kProgram, programs.path("normbench"));
  Json registry = read_json(std::string(NORMBENCH_PROGRAMS) + "/registry.json");
  // A machine with the device file of a GPU, seen by this one program; /dev/shm stays, for the
  // checkout may lie there.
  const auto doctor = [&](const Json& devices) {
    registry["devices"] = devices;
    write_json(programs.path("registry.json"), registry);
    return run_program(
        {"/usr/bin/unshare", "-m", "sh", "-c",
         "mkdir -p \"$1/dev\" && mount --rbind /dev \"$1/dev\" && mount -t tmpfs none /dev && "
         "mkdir /dev/shm && mount --rbind \"$1/dev/shm\" /dev/shm && touch /dev/nvidia0 || exit "
         "99; "
         "exec \"$1/normbench\" --root \"$2\" doctor --device cuda",
         "sh", programs.path(), checkout.path()});
  };
  const auto without = doctor({"cpu"});
  if (without.exit_code == 99 || without.err.starts_with("unshare"))
    GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(without.exit_code, 77) << without.out << without.err;
  EXPECT_NE(without.out.find("no code for the GPU"), std::string::npos) << without.out;
  const auto with = doctor(std::vector<std::string>{"cpu", "cuda"});
  EXPECT_EQ(with.exit_code, 0) << with.out << with.err;
}

TEST(Machine, AFolderThatCannotBeUsedIsNamedWithWhatToDo) {
  const Checkout checkout;
  const std::string results = checkout.path() + "/results";
  // Rights do not stop root; a link to itself stops everybody.
  std::filesystem::create_directory_symlink(results, results);
  const auto plan = checkout.normbench({"plan", "--tier", "smoke", "--only", "angpt.convergence"});
  expect_error(plan, 3, "machine error: a file or folder cannot be used");
  for (const std::string& words : {"where:    " + results, std::string("to do:    make it")})
    EXPECT_NE(plan.err.find(words), std::string::npos) << plan.err;
  EXPECT_EQ(plan.err.find("filesystem error"), std::string::npos) << plan.err;

  // Records that cannot be listed are not records that are not there.
  std::filesystem::remove(results);
  write_file_atomically(results + "/runs", "no folder");
  expect_error(checkout.normbench({"plan", "--tier", "smoke", "--only", "angpt.convergence"}), 3,
               results + "/runs");
}

}  // namespace
}  // namespace normbench
