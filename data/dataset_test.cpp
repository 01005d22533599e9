#include "data/dataset.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "data/batches.h"
#include "data/testing.h"
#include "data/workspace.h"
#include "suite/base/interrupt.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

/// One prepared data set, shared by the tests that only read it or work on a copy.
class PreparedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(prepare_dataset(tiny_spec(), {.cache_folder = cache_.path()}));
  }
  std::string folder() const { return cache_.path() + "/datasets/tiny"; }
  std::string shard() const { return folder() + "/train_000000.bin"; }
  TemporaryFolder cache_;
};
using Prepared = PreparedTest;

TEST_F(Prepared, OpensWithTheCountsAndDigestsOfItsSidecar) {
  const auto source = open_dataset("tiny", cache_.path());
  const Sidecar sidecar = read_sidecar(cache_.path(), "tiny");
  EXPECT_EQ(source->vocabulary(), 320);
  EXPECT_EQ(source->num_train_tokens(), sidecar.train.tokens);
  EXPECT_EQ(source->num_validation_tokens(), sidecar.validation.tokens);
  EXPECT_EQ(source->train_digest(), sidecar.train.digest);
  std::vector<int64_t> ids(static_cast<size_t>(sidecar.train.tokens));
  source->read_train(0, sidecar.train.tokens, ids.data());
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::kEndOfText), sidecar.train.documents);
  EXPECT_EQ(ids.back(), Tokenizer::kEndOfText);
  EXPECT_TRUE(verify_dataset("tiny", cache_.path()).empty());
  const double tokens = static_cast<double>(sidecar.train.tokens + sidecar.validation.tokens);
  EXPECT_DOUBLE_EQ(
      sidecar.bytes_per_token,
      static_cast<double>(sidecar.train.text_bytes + sidecar.validation.text_bytes) / tokens);
  EXPECT_GT(sidecar.unigram_entropy_nats, 1.0);
  EXPECT_LT(sidecar.unigram_entropy_nats, std::log(320.0));
}

TEST_F(Prepared, ReadsOutsideOfASplitAreErrors) {
  const auto source = open_dataset("tiny", cache_.path());
  int64_t id = 0;
  const int64_t n = source->num_train_tokens();
  source->read_train(n - 1, 1, &id);
  expect_words(user_error_of([&] { source->read_train(n, 1, &id); }), {"training", "outside"});
  expect_words(user_error_of([&] { source->read_validation(-1, 1, &id); }), {"validation"});
  expect_words(user_error_of([&] { source->read_train(1, INT64_MAX, &id); }), {"outside"});
}

TEST_F(Prepared, ASecondCallDoesNothing) {
  const auto before = fs::last_write_time(shard());
  EXPECT_FALSE(prepare_dataset(tiny_spec(), {.cache_folder = cache_.path()}));
  EXPECT_EQ(fs::last_write_time(shard()), before);
  EXPECT_TRUE(prepare_dataset(tiny_spec(), {.cache_folder = cache_.path(), .again = true}));
}

TEST_F(Prepared, AnotherSpecificationIsPreparedAgain) {
  DatasetSpec spec = tiny_spec();
  spec.tokenizer.vocabulary = 330;
  EXPECT_TRUE(prepare_dataset(spec, {.cache_folder = cache_.path()}));
  EXPECT_EQ(open_dataset("tiny", cache_.path())->vocabulary(), 330);
}

TEST_F(Prepared, AChangedByteIsFoundAndItsBlockNamed) {
  flip_byte(shard(), 1500);
  const auto range = "between byte 0 and byte " +
                     std::to_string(std::min<int64_t>(65536, fs::file_size(shard())) - 1);
  const auto found = verify_dataset("tiny", cache_.path());
  ASSERT_EQ(found.size(), 1u);
  expect_words(found[0], {"train_000000.bin", range});
  expect_words(user_error_of([&] { open_dataset("tiny", cache_.path()); }),
               {"damaged", "train_000000.bin", range, "--again"});
  EXPECT_TRUE(prepare_dataset(tiny_spec(), {.cache_folder = cache_.path()})) << "prepare mends it";
  EXPECT_TRUE(verify_dataset("tiny", cache_.path()).empty());
}

TEST(Damages, NamesEveryRunOfChangedBlocksInALargeFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("big.bin", std::string(5 * 65536 + 100, 'x'));
  const DigestedFile file = digest_file(folder.path(), "big.bin");
  EXPECT_EQ(file.blocks.size(), 6u);
  EXPECT_TRUE(damages(folder.path(), file, true).empty());
  for (const int64_t at : {65536 + 5, 2 * 65536 + 9, 5 * 65536 + 99}) flip_byte(path, at);
  const auto found = damages(folder.path(), file, true);
  ASSERT_EQ(found.size(), 2u);
  expect_words(found[0], {"between byte 65536 and byte 196607"});
  expect_words(found[1], {"between byte 327680 and byte 327779"});
}

TEST_F(Prepared, ACutOrMissingShardIsNamed) {
  fs::resize_file(shard(), fs::file_size(shard()) - 7);
  expect_words(user_error_of([&] { open_dataset("tiny", cache_.path()); }),
               {"train_000000.bin", "is cut", "bytes instead of"});
  fs::remove(shard());
  expect_words(user_error_of([&] { open_dataset("tiny", cache_.path()); }),
               {"train_000000.bin", "missing"});
  EXPECT_EQ(verify_dataset("tiny", cache_.path()).size(), 1u);
}

TEST_F(Prepared, AnEditedSidecarIsRefused) {
  const std::string path = folder() + "/dataset.json";
  std::string text = read_file(path);
  const size_t at = text.find("\"vocabulary\": 320,");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 18, "\"vocabulary\": 321,");
  write_file_atomically(path, text);
  expect_words(user_error_of([&] { open_dataset("tiny", cache_.path()); }),
               {"dataset.json", "changed by hand"});
  write_file_atomically(path, text.substr(0, text.size() / 2));
  expect_words(user_error_of([&] { open_dataset("tiny", cache_.path()); }),
               {"dataset.json", "not valid JSON", "normbench data prepare --again tiny"});
  EXPECT_TRUE(prepare_dataset(tiny_spec(), {.cache_folder = cache_.path()})) << "prepare mends it";
}

TEST_F(Prepared, AWrongNameGetsTheCommandAndAHint) {
  expect_words(user_error_of([&] { open_dataset("tinny", cache_.path()); }),
               {"not prepared", "normbench data prepare tinny", "did you mean \"tiny\""});
  for (const char* name : {"../x", "", ".hidden", "a/b", "-x"})
    expect_words(user_error_of([&] { open_dataset(name, cache_.path()); }), {"not a name"});
}

TEST_F(Prepared, TheSameSpecificationGivesTheSameTokens) {
  const TemporaryFolder other;
  prepare_dataset(tiny_spec(), {.cache_folder = other.path()});
  EXPECT_EQ(open_dataset("tiny", cache_.path())->train_digest(),
            open_dataset("tiny", other.path())->train_digest());
}

TEST_F(Prepared, AnotherTextThanExpectedIsAnErrorAndLeavesTheOldDataSet) {
  const Sidecar s = read_sidecar(cache_.path(), "tiny");
  DatasetSpec spec = tiny_spec();
  spec.expected = ExpectedDataset{s.text_digest,       s.pieces_digest,       s.train.digest,
                                  s.validation.digest, s.train.tokens,        s.validation.tokens,
                                  s.bytes_per_token,   s.unigram_entropy_nats};
  prepare_dataset(spec, {.cache_folder = cache_.path(), .again = true});
  EXPECT_TRUE(read_sidecar(cache_.path(), "tiny").warnings.empty());
  spec.expected->text_digest = "0123";
  expect_words(
      user_error_of([&] { prepare_dataset(spec, {.cache_folder = cache_.path(), .again = true}); }),
      {"text digest " + s.text_digest, "0123"});
  EXPECT_NO_THROW(open_dataset("tiny", cache_.path()));
}

TEST_F(Prepared, AnotherTokeniserThanExpectedIsAWarningInTheSidecar) {
  const Sidecar s = read_sidecar(cache_.path(), "tiny");
  DatasetSpec spec = tiny_spec();
  spec.expected = ExpectedDataset{s.text_digest,     "other",
                                  s.train.digest,    s.validation.digest,
                                  s.train.tokens,    s.validation.tokens,
                                  s.bytes_per_token, s.unigram_entropy_nats};
  prepare_dataset(spec, {.cache_folder = cache_.path(), .again = true});
  const auto warnings = read_sidecar(cache_.path(), "tiny").warnings;
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {"tokeniser differs", s.pieces_digest, "other"});
}

TEST(Prepare, KilledAtAnyMomentTheNextCallStartsCleanly) {
  const TemporaryFolder cache;
  for (int ms = 2; ms < 120; ms = ms * 3 / 2) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) prepare_dataset(tiny_spec(), {.cache_folder = cache.path(), .again = true});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    // What is visible under the name is whole, or nothing is.
    if (fs::exists(cache.path() + "/datasets/tiny")) {
      EXPECT_NO_THROW(open_dataset("tiny", cache.path())) << ms;
    }
  }
  prepare_dataset(tiny_spec(), {.cache_folder = cache.path()});
  EXPECT_TRUE(verify_dataset("tiny", cache.path()).empty());
  EXPECT_FALSE(fs::exists(cache.path() + "/datasets/.tiny.part"));
}

TEST(Prepare, AnInterruptStopsItBetweenDocumentsAndLeavesNothingBehind) {
  const TemporaryFolder cache;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    install_interrupt_handler();
    try {
      for (;;) prepare_dataset(tiny_spec(), {.cache_folder = cache.path(), .again = true});
    } catch (const Interrupted&) {
      ::_exit(kExitInterrupted);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted);
  EXPECT_FALSE(fs::exists(cache.path() + "/datasets/.tiny.part"));
}

TEST(Prepare, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder cache;
  DatasetSpec spec = tiny_spec();
  spec.tokenizer.vocabulary = 60000;
  expect_words(user_error_of([&] { prepare_dataset(spec, {.cache_folder = cache.path()}); }),
               {"vocabulary"});
  EXPECT_FALSE(fs::exists(cache.path() + "/datasets/tiny"));
  EXPECT_FALSE(fs::exists(cache.path() + "/datasets/.tiny.part"));
}

TEST(Prepare, ACallThatFindsAnotherAtWorkWaitsAndFindsTheWorkDone) {
  const TemporaryFolder cache;
  bool first = false, second = false;
  std::thread a([&] { first = prepare_dataset(tiny_spec(), {.cache_folder = cache.path()}); });
  std::thread b([&] { second = prepare_dataset(tiny_spec(), {.cache_folder = cache.path()}); });
  a.join();
  b.join();
  EXPECT_NE(first, second) << "exactly one of them did the work";
}

TEST(Prepare, TheUsersOwnFilesArePreparedAgainWhenTheyChange) {
  const TemporaryFolder cache;
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text +=
        "line " + std::to_string(i) + " says something new about " + std::to_string(i * 7) + "\n\n";
  const std::string path = cache.file("mine.txt", text);
  const auto prepare = [&] {
    auto spec = user_spec("mine", "text", {path}, 300, 0.1);
    return prepare_dataset(spec, {.cache_folder = cache.path()});
  };
  EXPECT_TRUE(prepare());
  EXPECT_FALSE(prepare());
  const std::string before = open_dataset("mine", cache.path())->train_digest();
  cache.file("mine.txt", text + "one more\n");
  EXPECT_TRUE(prepare());
  EXPECT_EQ(read_sidecar(cache.path(), "mine").sources[0]["bytes"], text.size() + 9);
  EXPECT_EQ(prepare_again("mine", read_sidecar(cache.path(), "mine").spec),
            "normbench data prepare --again --name mine --text " + path +
                " --vocabulary 300 --validation-share 0.1");
}

TEST(Prepare, TooFewDocumentsForTwoSplitsSayHowManyItTakes) {
  const TemporaryFolder f;
  const std::string text = f.file("mine.txt", "some words\n\nand some more\n"),
                    lines = f.file("mine.jsonl", "{\"text\": \"a\"}\n");
  const auto error_of = [&](const std::string& corpus, const std::string& path) {
    return user_error_of([&] {
      prepare_dataset(user_spec("mine", corpus, {path}, 300, 1e-6), {.cache_folder = f.path()});
    });
  };
  expect_words(error_of("text", text),
               {"1 document for training, 0 for validation", "4 kB and on to the next blank line",
                "at least 5000000 documents", "--validation-share"});
  expect_words(error_of("jsonl", lines), {"1 document for training", "a document is a line"});
}

TEST(Prepare, AVocabularyOfTheUsersOwnKeepsToTheLimit) {
  const TemporaryFolder f;
  const std::string path = f.file("mine.txt", "text");
  expect_words(user_error_of([&] { user_spec("mine", "text", {path}, 10, 0.1); }),
               {"vocabulary", "10", "259 or more"});
  expect_words(user_error_of([&] { user_spec("mine", "text", {path}, kMostVocabulary + 1, 0.1); }),
               {"vocabulary", "1000001", "at most 1000000"});
  for (const int64_t vocabulary : {int64_t{259}, kMostVocabulary})
    EXPECT_NO_THROW(user_spec("mine", "text", {path}, vocabulary, 0.1)) << vocabulary;
}

TEST(Prepare, TheAdviceForADamagedSetOfOursNamesIt) {
  EXPECT_EQ(prepare_again("tiny", tiny_spec().identity()), "normbench data prepare --again tiny");
  expect_words(prepare_again("tiny", Json()),
               {"--again tiny", "--again --name tiny and the source that it was made from"});
}

TEST(DataJson, TheCommittedFileIsReadAndEveryDataSetIsMeasured) {
  const auto specs = read_data_specs(std::string(NORMBENCH_SOURCE_DIR) + "/suite/tables/data.json");
  for (const auto& spec : specs) EXPECT_TRUE(spec.expected.has_value()) << spec.name;
  EXPECT_GE(specs.size(), 4u);
}

TEST(DataJson, TheSyntheticDataSetHasTheCommittedDigests) {
  const TemporaryFolder cache;
  for (const auto& spec :
       read_data_specs(std::string(NORMBENCH_SOURCE_DIR) + "/suite/tables/data.json")) {
    if (spec.name != "synthetic") continue;
    prepare_dataset(spec, {.cache_folder = cache.path()});  // throws when the text differs
    const Sidecar s = read_sidecar(cache.path(), "synthetic");
    if (s.pieces_digest ==
        spec.expected->pieces_digest) {  // another SentencePiece may learn other pieces
      EXPECT_EQ(s.train.digest, spec.expected->train_digest);
    }
    return;
  }
  FAIL() << "no data set synthetic";
}

TEST(DataJson, UnknownKeysAndCorporaAreNamed) {
  const TemporaryFolder folder;
  Json json = read_json(std::string(NORMBENCH_SOURCE_DIR) + "/suite/tables/data.json");
  const auto error_of = [&](const Json& value) {
    const std::string path = folder.file("data.json", value.dump());
    return user_error_of([&] { read_data_specs(path); });
  };
  Json a = json;
  a["datasets"]["gcide_1k"]["tokenizer"]["vocabulry"] = 5;
  expect_words(error_of(a), {"vocabulry", "vocabulary", "/datasets/gcide_1k/tokenizer"});
  Json b = json;
  b["datasets"]["gcide_1k"]["corpus"] = "gcid";
  expect_words(error_of(b), {"unknown corpus", "gcide"});
  Json c = json;
  c["datasets"]["gcide_1k"]["validation_share"] = 1.5;
  expect_words(error_of(c), {"validation_share", "1.5"});
  for (const auto& [at, value] :
       {std::pair("options", Json("x")), std::pair("expected/train_tokens", Json(-5)),
        std::pair("expected/bytes_per_token", Json(0))}) {
    Json d = json;
    const std::string pointer = std::string("/datasets/synthetic/") + at;
    d[Json::json_pointer(pointer)] = value;
    expect_words(error_of(d), {"data.json, at " + pointer, value.dump()});
  }
  Json e = json;  // which only the corpus knows
  e["datasets"]["synthetic"]["options"]["documnts"] = 3;
  const std::string path = folder.file("data.json", e.dump());
  for (const auto& spec : read_data_specs(path))
    if (spec.name == "synthetic")
      expect_words(
          user_error_of([&] { prepare_dataset(spec, {.cache_folder = folder.path()}); }),
          {path + ", at /datasets/synthetic/options/documnts", "did you mean \"documents\"?"});
}

}  // namespace
}  // namespace normbench
