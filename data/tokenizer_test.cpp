#include "data/tokenizer.h"

#include "data/corpus.h"
#include "data/testing.h"

namespace normbench {
namespace {

std::vector<std::string> lines() {
  std::vector<std::string> out;
  const Json options = {{"documents", 200}, {"seed", 4}};
  make_corpus("synthetic", JsonObject(options, "test"), {})->for_each([&](const Document& d) {
    for (size_t begin = 0; begin < d.text.size();) {
      const size_t end = std::min(d.text.find('\n', begin), d.text.size());
      out.push_back(d.text.substr(begin, end - begin));
      begin = end + 1;
    }
  });
  return out;
}

TEST(Tokenizer, TheSameLinesGiveTheSamePieces) {
  const auto text = lines();
  EXPECT_EQ(Tokenizer::train(text, {.vocabulary = 400}).digest(),
            Tokenizer::train(text, {.vocabulary = 400}).digest());
  EXPECT_NE(Tokenizer::train(text, {.vocabulary = 400}).digest(),
            Tokenizer::train(text, {.vocabulary = 401}).digest());
}

TEST(Tokenizer, IsLosslessOnAnyText) {
  Tokenizer tokenizer = Tokenizer::train(lines(), {.vocabulary = 400});
  for (const std::string text :
       {"the name", "  two blanks  inside and after ", "tab\tand\nnewline\n\n",
        "caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC", "0123456789!@#$%^&*()", "", " ", "\n"}) {
    std::vector<int32_t> ids;
    tokenizer.encode(text, &ids);
    EXPECT_EQ(tokenizer.decode(ids), text);
    for (const int32_t id : ids) {
      EXPECT_GE(id, 2) << "neither unknown nor end of text";
      EXPECT_LT(id, 400);
    }
  }
}

TEST(Tokenizer, TheWordCacheGivesWhatSentencePieceGives) {
  const auto text = lines();
  Tokenizer tokenizer = Tokenizer::train(text, {.vocabulary = 400});
  for (const auto& line : text) {
    std::vector<int32_t> ids;
    tokenizer.encode(line, &ids);
    ASSERT_EQ(ids, tokenizer.encode_plain(line)) << line;
  }
  const std::string odd = "a  b   c \n d\n\ne ";
  std::vector<int32_t> ids;
  tokenizer.encode(odd, &ids);
  EXPECT_EQ(ids, tokenizer.encode_plain(odd));
}

TEST(Tokenizer, SurvivesItsModelFile) {
  Tokenizer trained = Tokenizer::train(lines(), {.vocabulary = 400});
  const Tokenizer loaded = Tokenizer::load(trained.model(), "memory");
  EXPECT_EQ(loaded.digest(), trained.digest());
  EXPECT_EQ(loaded.vocabulary(), 400);
  expect_words(user_error_of([] { Tokenizer::load("nonsense", "x.model"); }),
               {"x.model", "not a SentencePiece model"});
}

TEST(Tokenizer, TooPoorATextIsAnError) {
  expect_words(user_error_of([] { Tokenizer::train({"a b c"}, {.vocabulary = 1024}); }),
               {"cannot be trained", "smaller vocabulary"});
}

TEST(Tokenizer, AVocabularyThatCannotHoldTheCharactersIsAnError) {
  std::string line;  // 64 characters of two bytes each
  for (int low = 0x80; low < 0xC0; ++low) line += std::string("\xC3") + static_cast<char>(low);
  expect_words(user_error_of([&] {
                 Tokenizer::train({line, line}, {.vocabulary = 270});
               }),
               {"cannot be trained", "a larger one"});
}

}  // namespace
}  // namespace normbench
