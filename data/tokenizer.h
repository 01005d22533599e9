// Byte-pair encoding by SentencePiece: trained once per data set, then only used. Lossless: no
// normalisation, no dummy blank, and bytes stand in for characters that the vocabulary lacks (a
// newline is such a byte).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/shard.h"
#include "suite/base/limits.h"

namespace normbench {

struct TokenizerOptions {
  int64_t vocabulary = 1024;  // pieces in all: 2 special ones, 256 bytes, characters, merges
  int64_t training_bytes =
      8'000'000;  // of the training split, from the front; more changes few merges and costs time
  double character_coverage = 0.9995;  // rarer characters are spelt in bytes
  template <class Visitor>
  void fields(Visitor& v) {
    v.number("vocabulary", vocabulary, between(259, kMostVocabulary));
    v.number("training_bytes", training_bytes, between(1, 1e10));  // held in memory
    v.number("character_coverage", character_coverage, between(0.98, 1));
  }
};

/// Ids: 0 unknown (never produced), 1 end of text, 2..257 bytes, then merges in the order in which
/// they were learnt, then characters.
class Tokenizer {
 public:
  static constexpr int32_t kEndOfText = 1;

  /// Trains on lines of text; one thread, no sampling: the same lines give the same pieces. `lines`
  /// are consumed in order. Throws UserError when the text is too poor for the vocabulary.
  static Tokenizer train(const std::vector<std::string>& lines, const TokenizerOptions& options);
  /// From the bytes of a .model file. Throws UserError when they are none.
  static Tokenizer load(const std::string& model, const std::string& where);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t vocabulary() const;
  /// Appends the ids of `text`. Words are looked up in a cache: pieces never cross a blank or a
  /// newline.
  void encode(std::string_view text, std::vector<int32_t>* ids);
  /// The same through SentencePiece at once: the readable truth beside the fast one.
  std::vector<int32_t> encode_plain(std::string_view text) const;
  std::string decode(const std::vector<int32_t>& ids) const;
  /// XXH3 over "piece\n" in the order of the ids. Not over the .model file, which may hold paths
  /// and versions.
  std::string digest() const;
  const std::string& model() const { return model_; }

 private:
  struct Impl;
  explicit Tokenizer(std::string model, const std::string& where);
  std::string model_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace normbench
