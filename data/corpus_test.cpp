#include "data/corpus.h"

#include <zstd.h>

#include <map>

#include "data/testing.h"

namespace normbench {
namespace {

std::vector<Document> documents_of(const Corpus& corpus) {
  std::vector<Document> out;
  corpus.for_each([&](const Document& d) { out.push_back(d); });
  return out;
}

TEST(Gcide, AnEntryRunsToTheNextLineAtColumnZeroAfterABlankLine) {
  const auto entries = gcide_entries(
      "Notice that does not count.\n\nA \\A\\ (named).\n   The first   letter of\n   the "
      "{Alpha}bet.\n   [1913 Webster]\n\n"
      "   2. (Mus.) A tone. [Obs.]\n      [1913 Webster +PJC]\n\nAaronic \\Aa*ron\"ic\\, "
      "Aaronical\n\\Aa*ron\"ic*al\\, a.\n"
      "   Pertaining to Aaron. [AS. [thorn]x]\n\nshort \\s\\ a.\n");
  ASSERT_EQ(entries.size(), 2u) << "the last one has fewer than 21 bytes";
  EXPECT_EQ(entries[0].text,
            "A \\A\\ (named). The first letter of the Alphabet.\n2. (Mus.) A tone. [Obs.]");
  EXPECT_EQ(entries[0].headword, "a");
  EXPECT_EQ(entries[1].text,
            "Aaronic \\Aa*ron\"ic\\, Aaronical \\Aa*ron\"ic*al\\, a. Pertaining to Aaron. [AS. "
            "[thorn]x]");
  EXPECT_EQ(entries[1].headword, "aaronic");
}

TEST(Gcide, AnotherTextIsRefused) {
  expect_words(user_error_of([] { gcide_entries("Some other text.\n"); }),
               {"not the text of the dictionary"});
}

TEST(Split, HangsOnTheKeyAloneAndHasAboutTheShareAskedFor) {
  int validation = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string key = "word" + std::to_string(i);
    validation += split_of(key, 0.02) == Split::kValidation;
    ASSERT_EQ(split_of(key, 0.02), split_of(key, 0.02));
  }
  // Binomial: mean 400, sigma sqrt(20000 * .02 * .98) = 19.8; five sigma.
  EXPECT_NEAR(validation, 400, 99);
}

TEST(Synthetic, IsTheSameEveryTimeAndNoTextLiesOnBothSides) {
  const auto make = [](int64_t seed) {
    const Json options = {{"documents", 500}, {"seed", seed}};
    return make_corpus("synthetic", JsonObject(options, "test"), {.validation_share = 0.2});
  };
  const auto a = documents_of(*make(1)), b = documents_of(*make(1)), c = documents_of(*make(2));
  ASSERT_EQ(a.size(), 500u);
  std::map<std::string, Split> side;
  int validation = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].text, b[i].text);
    EXPECT_EQ(a[i].split, side.try_emplace(a[i].text, a[i].split).first->second);
    validation += a[i].split == Split::kValidation;
  }
  EXPECT_GT(validation, 50);
  EXPECT_LT(validation, 150);
  EXPECT_NE(a[0].text, c[0].text);
}

TEST(Corpora, AreASortedListAndAWrongNameGetsAHint) {
  const auto names = corpus_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const Json options = Json::object();
  expect_words(user_error_of([&] { make_corpus("sinthetic", JsonObject(options, "test"), {}); }),
               {"unknown corpus", "synthetic"});
  const Json wrong = {{"document", 3}};
  expect_words(user_error_of([&] { make_corpus("synthetic", JsonObject(wrong, "test"), {}); }),
               {"document"});
}

TEST(Markdown, BecomesPlainParagraphs) {
  const auto lines = markdown_paragraphs(
      "# Short title\n\n> _\"While the **popular** understanding is co-\n> operative\"_ , [ "
      "**Title** , p. 1]\n\n---\n\n"
      "  * See [the long page](a.md#b) for one more and better word.\n  * two\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "\"While the popular understanding is co-operative\", [Title, p. 1]");
  EXPECT_EQ(lines[1], "See the long page for one more and better word.");
}

TEST(Chunker, CutsAtBlankLinesAndAtTwiceTheSizeAtTheLatest) {
  std::vector<std::string> chunks;
  Chunker chunker(10, Chunker::kWholeLines,
                  [&](std::string chunk) { chunks.push_back(std::move(chunk)); });
  for (const char* line : {"", "aaaa", "bbbb", "", "cccc", "dddd", "eeee", "ffff", "gg", ""})
    chunker.line(line);
  chunker.finish();
  EXPECT_EQ(chunks, (std::vector<std::string>{"aaaa\nbbbb", "cccc\ndddd\neeee\nffff", "gg"}));
}

TEST(Chunker, CutsALineThatIsLongerThanAChunkMayBe) {
  std::vector<std::string> chunks;
  Chunker chunker(5, 10, [&](std::string chunk) { chunks.push_back(std::move(chunk)); });
  for (const char* line : {"aa", "bb cc ddd eeee ff", "gggggggggggg",
                           "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
                           "x\xC3\xA4"})
    chunker.line(line);
  chunker.finish();
  EXPECT_EQ(chunks, (std::vector<std::string>{"aa", "bb cc ddd", "eeee ff", "gggggggggg", "gg",
                                              "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4x", "\xC3\xA4"}));
}

TEST(Text, KeepsEveryLineAndReplacesWhatIsNotUtf8) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.txt", "one line\r\n\r\nsecond \xFFpart\nno end");
  const Json options = {{"files", {path}}, {"chunk_bytes", 8}};
  const auto documents = documents_of(*make_corpus("text", JsonObject(options, "test"), {}));
  std::string joined;
  for (const auto& d : documents) joined += d.text + "|";
  EXPECT_EQ(joined, "one line|second \xEF\xBF\xBDpart\nno end|");
  const Json missing = {{"files", {folder.path() + "/none.txt"}}};
  expect_words(user_error_of([&] { make_corpus("text", JsonObject(missing, "test"), {}); }),
               {"none.txt"});
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(Jsonl, ReadsPlainAndCompressedLines) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 20000; ++i)
    lines += "{\"id\":" + std::to_string(i) + ",\"text\":\"document " + std::to_string(i) + "\"}\n";
  // Two frames: pigz-like writers and `cat a.zst b.zst` make such files.
  const std::string plain = folder.file("a.jsonl", lines),
                    packed = folder.file("b.jsonl.zst", zstd(lines) + zstd(lines));
  const Json options = {{"files", {plain, packed}}};
  const auto documents = documents_of(*make_corpus("jsonl", JsonObject(options, "test"), {}));
  ASSERT_EQ(documents.size(), 60000u);
  EXPECT_EQ(documents[59999].text, "document 19999");
}

TEST(Jsonl, AWrongLineIsNamedByItsNumber) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& name, const std::string& bytes) {
    const Json options = {{"files", {folder.file(name, bytes)}}};
    const auto corpus = make_corpus("jsonl", JsonObject(options, "test"), {});
    return user_error_of([&] { documents_of(*corpus); });
  };
  const std::string good = "{\"text\":\"x\"}\n";
  expect_words(error_of("a.jsonl", good + good + "{\"text\":\"cut"),
               {"a.jsonl, line 3", "no JSON"});
  expect_words(error_of("a.jsonl", good + "\n[1]\n"), {"line 3", "no JSON object", "array"});
  expect_words(error_of("a.jsonl", good + "{\"txt\":\"x\"}\n"), {"line 2", "no key \"text\""});
  expect_words(error_of("a.jsonl", "{\"text\":5}\n"), {"line 1", "number"});
  expect_words(error_of("a.jsonl", "{\"text\":\"\xFF\"}\n"), {"line 1", "UTF-8"});
  expect_words(error_of("a.jsonl.zst", zstd(good + good).substr(0, 15)),
               {"a.jsonl.zst", "inside of a frame"});
  expect_words(error_of("a.jsonl.zst", "not zstd at all"), {"a.jsonl.zst", "broken"});
}

TEST(Utf8, ReplacesExactlyTheInvalidSequences) {
  int64_t replaced = 0;
  EXPECT_EQ(valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", &replaced),
            "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(replaced, 0);
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("\xC0\x80", &replaced), r + r);          // over-long zero
  EXPECT_EQ(valid_utf8("\xED\xA0\x80", &replaced), r + r + r);  // a surrogate
  EXPECT_EQ(valid_utf8("x\xE2\x82", &replaced), "x" + r + r);   // cut
  EXPECT_EQ(replaced, 7);
}

TEST(Lines, AReadErrorIsNotTheEndOfTheFile) {
  // The first page of a process is never mapped: reading it is an error of the operating system.
  expect_words(
      user_error_of([] { for_each_line("/proc/self/mem", [](std::string_view, int64_t) {}); }),
      {"/proc/self/mem", "cannot be read to its end"});
}

}  // namespace
}  // namespace normbench
