#include "suite/base/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "suite/base/errors.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench {
namespace {

class Files : public ::testing::Test {
 protected:
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(Files, WritingReplacesTheWholeFileAndLeavesNoTemporaryOne) {
  write_file_atomically(folder_ + "/sub/x", "old");
  write_file_atomically(folder_ + "/sub/x", "new");
  EXPECT_EQ(read_file(folder_ + "/sub/x"), "new");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_ + "/sub"))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(Files, AFolderInPlaceOfAFileIsAMachineErrorAndTheFolderStays) {
  std::filesystem::create_directories(folder_ + "/x");
  EXPECT_THROW(write_file_atomically(folder_ + "/x", "bytes"), MachineError);
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/x"));
}

TEST_F(Files, AnAbsentFileIsNamed) {
  try {
    read_file(folder_ + "/absent");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("absent"), std::string::npos);
  }
}

TEST_F(Files, ASecondLockIsRefusedUntilTheFirstIsGone) {
  {
    const FileLock first(folder_ + "/lock", false, "the run");
    EXPECT_THROW(FileLock(folder_ + "/lock", false, "the run"), UserError);
  }
  EXPECT_NO_THROW(FileLock(folder_ + "/lock", false, "the run"));
}

TEST_F(Files, WaitingForALockIsSaidOnce) {
  auto first = std::make_unique<FileLock>(folder_ + "/lock", false, "the run");
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    first.reset();
  });
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(FileLock(folder_ + "/lock", true, "the run"));
  const std::string said = ::testing::internal::GetCapturedStderr();
  holder.join();
  const size_t line = said.find("waiting for another process, which is at work on the run");
  EXPECT_NE(line, std::string::npos) << said;
  EXPECT_EQ(said.find("waiting", line + 1), std::string::npos) << said;
}

/// The exit code of a process that is asked to stop while it waits for a lock.
[[noreturn]] void wait_for_lock_and_exit(const std::string& path) {
  const FileLock held(path, false, "the test");
  install_interrupt_handler();
  ::alarm(20);  // whoever sleeps through the signal is killed
  std::raise(SIGTERM);
  try {
    const FileLock wanted(path, true, "the test");
  } catch (const Interrupted&) {
    std::_Exit(kExitInterrupted);
  }
  std::_Exit(kExitOk);
}

TEST_F(Files, WaitingForALockEndsWithTheFirstSignal) {
  EXPECT_EXIT(wait_for_lock_and_exit(folder_ + "/lock"),
              ::testing::ExitedWithCode(kExitInterrupted), "");
}

// FIPS 180-2, appendix B.1: SHA-256 of "abc".
TEST_F(Files, Sha256GivesThePublishedDigest) {
  write_file_atomically(folder_ + "/abc", "abc");
  EXPECT_EQ(sha256_file(folder_ + "/abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Files, AStreamHashEqualsTheHashOfTheWhole) {
  StreamHash hash;
  hash.update("counter-");
  hash.update("based");
  EXPECT_EQ(hash.hex(), xxh3_hex("counter-based"));
}

}  // namespace
}  // namespace normbench
