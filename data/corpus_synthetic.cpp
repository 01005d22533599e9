// A tiny language made by a seeded grammar: no download, for unit tests and canaries. Names, verbs
// and places repeat inside a document, so that a model has something to learn (frequencies, word
// order, and copying).
#include <array>

#include "data/corpus.h"
#include "suite/base/random.h"

namespace normbench {
namespace {

constexpr std::array<std::string_view, 14> kOnsets = {"b", "d", "f", "g", "k", "l",  "m",
                                                      "n", "p", "r", "s", "t", "st", "br"};
constexpr std::array<std::string_view, 6> kVowels = {"a", "e", "i", "o", "u", "ai"};

/// A word of two or three syllables, a pure function of its number.
std::string word(const RandomStream& stream, uint64_t number) {
  std::string out;
  const uint64_t bits = stream.bits(number);
  const int syllables = 2 + static_cast<int>(bits >> 60) % 2;
  for (int s = 0; s < syllables; ++s) {
    out += kOnsets[(bits >> (8 * s)) % kOnsets.size()];
    out += kVowels[(bits >> (8 * s + 32)) % kVowels.size()];
  }
  return out;
}

class SyntheticCorpus : public ShuffledCorpus {
 public:
  SyntheticCorpus(const JsonObject& options, const CorpusInput& input) {
    const auto documents = options.optional<int64_t>("documents", 400);
    const auto seed = options.optional<int64_t>("seed", 0);
    options.finish();
    const RandomStream words(static_cast<uint64_t>(seed), "synthetic/words");
    const RandomStream choices(static_cast<uint64_t>(seed), "synthetic/choices");
    uint64_t at = 0;
    const auto draw = [&](uint64_t n) { return choices.bits(at++) % n; };
    // Word k of 300 has a weight that falls like 1/k: the square of a uniform number.
    const auto rare = [&](uint64_t n) {
      const double u = choices.uniform(at++);
      return static_cast<uint64_t>(u * u * static_cast<double>(n - 1));
    };
    for (int64_t d = 0; d < documents; ++d) {
      const std::string hero = word(words, 1000 + draw(200)), place = word(words, 2000 + draw(60));
      std::string text;
      const uint64_t sentences = 4 + draw(12);
      for (uint64_t s = 0; s < sentences; ++s) {
        if (s > 0) text += draw(4) == 0 ? "\n" : " ";
        text += (draw(3) == 0 ? "the " + word(words, rare(300)) : hero) + " " +
                word(words, 3000 + rare(40)) + " the " + word(words, rare(300));
        if (draw(2) == 0) text += " in " + place;
        text += ".";
      }
      documents_.push_back({split_of(text, input.validation_share), std::move(text)});
    }
  }
};

}  // namespace

std::unique_ptr<Corpus> make_synthetic_corpus(const JsonObject& options, const CorpusInput& input) {
  return std::make_unique<SyntheticCorpus>(options, input);
}

}  // namespace normbench
