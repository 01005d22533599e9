#include "suite/base/record_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "suite/base/files.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench {
namespace {

class RecordStream : public ::testing::Test {
 protected:
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  const std::string path_ = folder_ + "/steps.jsonl.zst";
};

TEST_F(RecordStream, AFileCutAtAnyByteGivesAllWholeFramesAndNothingElse) {
  std::vector<size_t> ends = {0};  // file size after each flush
  {
    RecordWriter writer(path_, 0);
    for (int frame = 0; frame < 4; ++frame) {
      for (int line = 0; line < 3; ++line)
        writer.append({{"step", 3 * frame + line}, {"loss", 6.93147}});
      writer.flush();
      ends.push_back(std::filesystem::file_size(path_));
    }
  }
  const std::string bytes = read_file(path_);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string cut = folder_ + "/cut.zst";
    write_file_atomically(cut, bytes.substr(0, size));
    size_t whole = 0;
    while (whole + 1 < ends.size() && ends[whole + 1] <= size) ++whole;
    size_t cut_bytes = 99;
    ASSERT_EQ(read_record_lines(cut, &cut_bytes).size(), 3 * whole) << size << " bytes";
    ASSERT_EQ(cut_bytes, size - ends[whole]) << size << " bytes";
  }
}

// A few bits of a frame mean nothing (padding of its entropy tables); every other one is found.
TEST_F(RecordStream, AChangedBitIsFoundOrChangesNoLine) {
  {
    RecordWriter writer(path_, 0);
    for (int line = 0; line < 50; ++line)
      writer.append({{"step", line}, {"loss", 1.0 / (line + 1)}});
    writer.flush();
  }
  const std::string bytes = read_file(path_);
  const auto lines = read_record_lines(path_);
  int found = 0, total = 0;
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string damaged = bytes;
    damaged[byte] ^= static_cast<char>(1 << byte % 8);
    write_file_atomically(path_, damaged);
    ++total;
    try {
      size_t cut_bytes = 0;
      const auto read = read_record_lines(path_, &cut_bytes);
      if (cut_bytes > 0) {
        ++found;
      } else {
        EXPECT_EQ(read, lines) << "byte " << byte;
      }
    } catch (const UserError&) {
      ++found;
    }
  }
  EXPECT_GT(found, total * 9 / 10);
}

TEST_F(RecordStream, ReopeningKeepsTheLinesAskedForAndDropsTheRest) {
  {
    RecordWriter writer(path_, 0);
    for (int line = 0; line < 10; ++line) writer.append({{"step", line}});
    writer.flush();
  }
  {
    RecordWriter writer(path_, 4);
    writer.append({{"step", 100}});
    writer.flush();
  }
  const auto lines = read_record_lines(path_);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[3], "{\"step\":3}");
  EXPECT_EQ(lines[4], "{\"step\":100}");
}

}  // namespace
}  // namespace normbench
