// Small files written byte by byte in the three foreign formats.
#include <numeric>

#include "data/batches.h"
#include "data/testing.h"

namespace normbench {
namespace {

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string llmc_bytes(const std::vector<uint16_t>& ids) {
  std::vector<int32_t> head(256, 0);
  head[0] = 20240520;
  head[1] = 1;
  head[2] = static_cast<int32_t>(ids.size());
  return raw(head) + raw(ids);
}

std::string megatron_index(uint8_t type, const std::vector<int32_t>& lengths,
                           const std::vector<int64_t>& bounds) {
  const int64_t width = type == 8 ? 2 : 4;
  std::vector<int64_t> offsets;
  int64_t at = 0;
  for (const int32_t n : lengths) {
    offsets.push_back(at);
    at += n * width;
  }
  return std::string("MMIDIDX\0\0", 9) + raw<uint64_t>({1}) + raw<uint8_t>({type}) +
         raw<uint64_t>({lengths.size(), bounds.size()}) + raw(lengths) + raw(offsets) + raw(bounds);
}

std::vector<int64_t> train_of(const TokenSource& source) {
  std::vector<int64_t> ids(static_cast<size_t>(source.num_train_tokens()));
  source.read_train(0, source.num_train_tokens(), ids.data());
  return ids;
}
std::vector<int64_t> validation_of(const TokenSource& source) {
  std::vector<int64_t> ids(static_cast<size_t>(source.num_validation_tokens()));
  source.read_validation(0, source.num_validation_tokens(), ids.data());
  return ids;
}

TEST(ReadyMade, LlmcShardsAreOneStreamInTheirOrder) {
  const TemporaryFolder f;
  const std::vector<std::string> files = {f.file("t_train_000001.bin", llmc_bytes({1, 2, 3})),
                                          f.file("t_train_000002.bin", llmc_bytes({4, 5})),
                                          f.file("t_val_000000.bin", llmc_bytes({6, 7, 8}))};
  ReadyMade request{.name = "mine", .format = "llmc", .files = files, .vocabulary = 50257};
  EXPECT_TRUE(prepare_ready_made(request, {.cache_folder = f.path()}));
  EXPECT_FALSE(prepare_ready_made(request, {.cache_folder = f.path()}))
      << "the second call does nothing";
  const auto source = open_dataset("mine", f.path());
  EXPECT_EQ(train_of(*source), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(validation_of(*source), (std::vector<int64_t>{6, 7, 8}));
  EXPECT_EQ(source->vocabulary(), 50257);
  std::vector<int64_t> across(3);
  source->read_train(1, 3, across.data());
  EXPECT_EQ(across, (std::vector<int64_t>{2, 3, 4}));
  request.vocabulary = 5;
  expect_words(user_error_of([&] { prepare_ready_made(request, {.cache_folder = f.path()}); }),
               {"t_train_000002.bin, byte 1026", "5", "0 to 4"});
  request.files.pop_back();
  expect_words(user_error_of([&] { prepare_ready_made(request, {.cache_folder = f.path()}); }),
               {"two splits", "\"val\""});
}

TEST(ReadyMade, OnlyTheWordValMakesALlmcShardValidation) {
  const TemporaryFolder f;
  ReadyMade request{.name = "mine",
                    .format = "llmc",
                    .files = {f.file("val/retrieval_train_0.bin", llmc_bytes({1, 2})),
                              f.file("val/interval-train1.bin", llmc_bytes({3})),
                              f.file("val/fineweb_val_0.bin", llmc_bytes({4})),
                              f.file("val/x-validation.0.bin", llmc_bytes({5}))},
                    .vocabulary = 10};
  prepare_ready_made(request, {.cache_folder = f.path()});
  EXPECT_EQ(train_of(*open_dataset("mine", f.path())), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(validation_of(*open_dataset("mine", f.path())), (std::vector<int64_t>{4, 5}));
}

TEST(ReadyMade, TheAdviceForDamagedShardsPreparesThem) {
  const TemporaryFolder f;
  const std::string train = f.file("my shards/t_train.bin", llmc_bytes({1, 2})),
                    validation = f.file("my shards/t_val.bin", llmc_bytes({3}));
  prepare_ready_made({.name = "mine", .format = "llmc", .files = {train, validation}},
                     {.cache_folder = f.path()});
  const auto advice = [&](const std::string& name) {
    return prepare_again(name, read_sidecar(f.path(), name).spec);
  };
  EXPECT_EQ(advice("mine"), "normbench data prepare --again --name mine --llmc-shards '" + train +
                                "' '" + validation + "'");
  flip_byte(train, 1024);
  expect_words(user_error_of([&] { open_dataset("mine", f.path()); }), {advice("mine")});
  f.file("set/train.bin", raw<uint16_t>({10, 20}));
  f.file("set/val.bin", raw<uint16_t>({7}));
  prepare_ready_made(
      {.name = "nano", .format = "nanogpt", .files = {f.path() + "/set"}, .vocabulary = 50},
      {.cache_folder = f.path()});
  EXPECT_EQ(advice("nano"), "normbench data prepare --again --name nano --nanogpt " + f.path() +
                                "/set --vocabulary 50");
}

TEST(ReadyMade, AVocabularyIsOneThatTheTokensCanHave) {
  const TemporaryFolder f;
  f.file("set/train.bin", raw<uint16_t>({10, 20}));
  f.file("set/val.bin", raw<uint16_t>({7}));
  ReadyMade narrow{.name = "mine", .format = "nanogpt", .files = {f.path() + "/set"}};
  narrow.vocabulary = 70000;
  expect_words(user_error_of([&] { prepare_ready_made(narrow, {.cache_folder = f.path()}); }),
               {"train.bin", "70000", "2 bytes a token", "at most 65536"});
  narrow.vocabulary = 65536;
  EXPECT_TRUE(prepare_ready_made(narrow, {.cache_folder = f.path()}));

  f.file("m.bin", raw<int32_t>({1, -2, 3, 4}));
  f.file("m.idx", megatron_index(4, {2, 2}, {0, 1, 2}));
  ReadyMade wide{
      .name = "wide", .format = "megatron", .files = {f.path() + "/m"}, .validation_share = 0.5};
  expect_words(user_error_of([&] { prepare_ready_made(wide, {.cache_folder = f.path()}); }),
               {"m.bin, byte 4", "4294967294", "0 to 999999"});
  wide.vocabulary = kMostVocabulary + 1;
  expect_words(user_error_of([&] { prepare_ready_made(wide, {.cache_folder = f.path()}); }),
               {"at most 1000000"});
}

TEST(ReadyMade, NanoGptFoldersAreReadAsTheyAre) {
  const TemporaryFolder f;
  f.file("set/train.bin", raw<uint16_t>({10, 20, 65535}));
  f.file("set/val.bin", raw<uint16_t>({7, 7}));
  ReadyMade request{.name = "mine", .format = "nanogpt", .files = {f.path() + "/set"}};
  prepare_ready_made(request, {.cache_folder = f.path()});
  const auto source = open_dataset("mine", f.path());
  EXPECT_EQ(train_of(*source), (std::vector<int64_t>{10, 20, 65535}));
  EXPECT_EQ(validation_of(*source), (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(source->vocabulary(), 65536) << "largest id + 1";
  flip_byte(f.path() + "/set/train.bin", 2);
  expect_words(user_error_of([&] { open_dataset("mine", f.path()); }),
               {"train.bin", "between byte 0 and byte 5"});
  f.file("set/train.bin", "odd");
  expect_words(user_error_of([&] { prepare_ready_made(request, {.cache_folder = f.path()}); }),
               {"train.bin", "3 bytes", "multiple of 2"});
  std::filesystem::remove(f.path() + "/set/val.bin");
  expect_words(user_error_of([&] { prepare_ready_made(request, {.cache_folder = f.path()}); }),
               {"val.bin"});
}

TEST(ReadyMade, MegatronIndexedFilesAreSplitBetweenDocuments) {
  const TemporaryFolder f;
  std::vector<uint16_t> ids(20);
  std::iota(ids.begin(), ids.end(), 100);
  f.file("m.bin", raw(ids));
  // Documents end at tokens 8, 15, 18, 20 (sequences of 5, 3, 7, 3, 2).
  f.file("m.idx", megatron_index(8, {5, 3, 7, 3, 2}, {0, 2, 3, 4, 5}));
  ReadyMade request{
      .name = "mine", .format = "megatron", .files = {f.path() + "/m"}, .validation_share = 0.2};
  prepare_ready_made(request, {.cache_folder = f.path()});
  const auto source = open_dataset("mine", f.path());
  ASSERT_EQ(source->num_train_tokens(), 15)
      << "the last bound with a fifth of the tokens behind it";
  EXPECT_EQ(train_of(*source).back(), 114);
  EXPECT_EQ(validation_of(*source), (std::vector<int64_t>{115, 116, 117, 118, 119}));
  EXPECT_TRUE(verify_dataset("mine", f.path()).empty());
}

TEST(ReadyMade, MegatronFilesOfFourBytesATokenAreReadToo) {
  const TemporaryFolder f;
  f.file("m.bin", raw<int32_t>({1, 100000, 3, 4}));
  f.file("m.idx", megatron_index(4, {2, 2}, {0, 1, 2}));
  prepare_ready_made(
      {.name = "mine", .format = "megatron", .files = {f.path() + "/m"}, .validation_share = 0.5},
      {.cache_folder = f.path()});
  EXPECT_EQ(train_of(*open_dataset("mine", f.path())), (std::vector<int64_t>{1, 100000}));
}

TEST(ReadyMade, ADamagedMegatronIndexIsNamed) {
  const TemporaryFolder f;
  f.file("m.bin", raw<uint16_t>({1, 2, 3, 4}));
  const std::string good = megatron_index(8, {2, 2}, {0, 1, 2});
  const auto error_of = [&](const std::string& index) {
    f.file("m.idx", index);
    return user_error_of([&] {
      prepare_ready_made({.name = "mine",
                          .format = "megatron",
                          .files = {f.path() + "/m"},
                          .validation_share = 0.5},
                         {.cache_folder = f.path()});
    });
  };
  expect_words(error_of("nonsense nonsense"), {"m.idx", "MMIDIDX"});
  expect_words(error_of(good.substr(0, 20)), {"cut"});
  expect_words(error_of(good.substr(0, good.size() - 8)), {"cut"});
  std::string type = good;
  type[17] = 6;
  expect_words(error_of(type), {"type of the tokens", "6"});
  std::string huge = good;
  huge[25] = '\x7F';  // the top byte of the number of sequences
  expect_words(error_of(huge), {"cut or too long"});
  expect_words(error_of(megatron_index(8, {2, 3}, {0, 1, 2})), {"m.bin", "4 tokens", "5"});
  expect_words(error_of(megatron_index(8, {2, 2}, {0, 2})), {"cannot be split"});
  expect_words(error_of(megatron_index(8, {2, 2}, {2, 1, 0})), {"do not ascend", "bound 0: 2"});
  expect_words(error_of(megatron_index(8, {2, 2}, {0, 2, 1})), {"do not ascend", "bound 2: 1"});
  expect_words(error_of(megatron_index(8, {2, 2}, {0, 1})), {"the last document", "token 4"});
}

}  // namespace
}  // namespace normbench
