#include "data/shard.h"

#include <cstring>

#include "data/testing.h"

namespace normbench {
namespace {

std::vector<int64_t> all_tokens(const TokenSpan& span) {
  std::vector<int64_t> ids(static_cast<size_t>(span.tokens));
  span.read(0, span.tokens, ids.data());
  return ids;
}

// Truth: the format's description at the top of shard.h, written here byte by byte.
TEST(Shard, HasTheHeaderOfLlmcAndTwoBytesATokenUpTo65536Words) {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path(), "train", 65536);
  writer.append(std::vector<int32_t>{1, 258, 65535});
  writer.finish();
  const std::string bytes = read_file(folder.path() + "/train_000000.bin");
  ASSERT_EQ(bytes.size(), 1024u + 6);
  int32_t head[4];
  std::memcpy(head, bytes.data(), sizeof(head));
  EXPECT_EQ(head[0], 20240520);
  EXPECT_EQ(head[1], 1);
  EXPECT_EQ(head[2], 3);
  EXPECT_EQ(head[3], 0);
  EXPECT_EQ(bytes.substr(1024), std::string("\x01\x00\x02\x01\xFF\xFF", 6));
  EXPECT_EQ(all_tokens(open_llmc_shard(folder.path() + "/train_000000.bin")),
            (std::vector<int64_t>{1, 258, 65535}));
}

TEST(Shard, HasFourBytesATokenAbove65536Words) {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path(), "train", 128256);
  writer.append(std::vector<int32_t>{128255, 7});
  writer.finish();
  const TokenSpan span = open_llmc_shard(folder.path() + "/train_000000.bin");
  EXPECT_EQ(span.width, 4);
  EXPECT_EQ(all_tokens(span), (std::vector<int64_t>{128255, 7}));
}

TEST(Shard, ALongTextGoesOnInTheNextShard) {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path(), "t", 100, /*max_tokens=*/3);
  writer.append(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6});
  writer.finish();
  ASSERT_EQ(writer.files(),
            (std::vector<std::string>{"t_000000.bin", "t_000001.bin", "t_000002.bin"}));
  EXPECT_EQ(all_tokens(open_llmc_shard(folder.path() + "/t_000001.bin")),
            (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(all_tokens(open_llmc_shard(folder.path() + "/t_000002.bin")),
            (std::vector<int64_t>{6}));
}

TEST(Shard, AnIdOutsideOfTheVocabularyIsNotWritten) {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path(), "t", 100);
  expect_words(user_error_of([&] { writer.append(std::vector<int32_t>{100}); }),
               {"100", "0 to 99"});
  expect_words(user_error_of([&] { writer.append(std::vector<int32_t>{-1}); }), {"-1"});
}

TEST(Shard, AFullDiskIsAnErrorOfTheMachine) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() + "/t_000000.bin");
  ShardWriter writer(folder.path(), "t", 100);
  try {
    writer.append(std::vector<int32_t>(1 << 20, 7));
    writer.finish();
    FAIL() << "the full disk went unnoticed";
  } catch (const MachineError& error) {
    expect_words(error.what(), {"t_000000.bin", "No space left", "free some space"});
  }
}

TEST(Shard, CutLongAndForeignFilesAreNamed) {
  const TemporaryFolder folder;
  ShardWriter writer(folder.path(), "t", 100);
  writer.append(std::vector<int32_t>{1, 2, 3, 4});
  writer.finish();
  const std::string good = read_file(folder.path() + "/t_000000.bin");
  const auto error_of = [&](const std::string& bytes) {
    const std::string path = folder.file("bad.bin", bytes);
    return user_error_of([&] { open_llmc_shard(path); });
  };
  expect_words(error_of(good.substr(0, good.size() - 1)),
               {"cut", "bad.bin", "1031 bytes", "1032 bytes", "with the program that wrote it"});
  expect_words(error_of(good + "x"), {"contradicts its header", "1033"});
  expect_words(error_of(good.substr(0, 500)), {"cut", "500 bytes"});
  expect_words(error_of(""), {"cut", "0 bytes"});
  std::string magic = good;
  magic[0] ^= 1;
  expect_words(error_of(magic), {"magic", "20240520", "20240521"});
  std::string version = good;
  version[4] = 9;
  expect_words(error_of(version), {"version", "9"});
  std::string negative = good;
  negative[11] = '\xFF';
  expect_words(error_of(negative), {"contradicts"});
  expect_words(user_error_of([&] { open_llmc_shard(folder.path() + "/none.bin"); }),
               {"none.bin", "No such file"});
}

}  // namespace
}  // namespace normbench
