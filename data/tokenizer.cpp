#include "data/tokenizer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "suite/base/errors.h"
#include "suite/base/hash.h"

namespace normbench {
namespace {

/// Hands the lines to the trainer one by one.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ >= lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};

}  // namespace

struct Tokenizer::Impl {
  sentencepiece::SentencePieceProcessor processor;
  std::unordered_map<std::string, std::vector<int32_t>, TextHash, std::equal_to<>> cache;
};

Tokenizer::Tokenizer(std::string model, const std::string& where)
    : model_(std::move(model)), impl_(std::make_unique<Impl>()) {
  const auto status = impl_->processor.LoadFromSerializedProto(model_);
  if (!status.ok())
    throw UserError(
        {.what = "not a SentencePiece model", .where = where, .found = status.ToString()});
}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const std::string& model, const std::string& where) {
  return Tokenizer(model, where);
}

Tokenizer Tokenizer::train(const std::vector<std::string>& lines, const TokenizerOptions& options) {
  LineIterator iterator(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      std::unordered_map<std::string, std::string>{
          {"model_type", "bpe"},
          {"vocab_size", std::to_string(options.vocabulary)},
          {"character_coverage", std::to_string(options.character_coverage)},
          {"byte_fallback", "true"},
          {"normalization_rule_name", "identity"},
          {"remove_extra_whitespaces", "false"},
          {"add_dummy_prefix", "false"},
          {"input_sentence_size", "0"},  // all lines, so that no random choice is made
          {"shuffle_input_sentence", "false"},
          {"max_sentence_length", "100000000"},
          {"num_threads", "1"},
          {"unk_id", "0"},
          {"eos_id", "1"},
          {"bos_id", "-1"},
          {"pad_id", "-1"},
          {"eos_piece", "<|endoftext|>"},
          {"minloglevel", "2"}},
      &iterator, &model);
  if (!status.ok())
    throw UserError({.what = "the tokeniser cannot be trained",
                     .found = status.ToString(),
                     .expected = "text with enough different words for " +
                                 std::to_string(options.vocabulary) + " pieces",
                     .todo = "choose a smaller vocabulary or give more text; a larger one when the "
                             "characters of the text do not fit into it"});
  return Tokenizer(std::move(model), "the tokeniser just trained");
}

int64_t Tokenizer::vocabulary() const { return impl_->processor.GetPieceSize(); }

std::vector<int32_t> Tokenizer::encode_plain(std::string_view text) const {
  std::vector<int> ids;
  const auto status = impl_->processor.Encode({text.data(), text.size()}, &ids);
  NORMBENCH_CHECK(status.ok(), status.ToString());
  return {ids.begin(), ids.end()};
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>* ids) {
  constexpr size_t kLongestCached = 40, kLargestCache = 2'000'000;
  for (size_t begin = 0; begin < text.size();) {
    // A unit is a run of blanks with the word behind it, or one newline.
    size_t end = begin;
    if (text[begin] == '\n') {
      ++end;
    } else {
      while (end < text.size() && text[end] == ' ') ++end;
      end = std::min(text.find_first_of(" \n", end), text.size());
    }
    const auto unit = text.substr(begin, end - begin);
    begin = end;
    if (const auto found = impl_->cache.find(unit); found != impl_->cache.end()) {
      ids->insert(ids->end(), found->second.begin(), found->second.end());
      continue;
    }
    const auto fresh = encode_plain(unit);
    ids->insert(ids->end(), fresh.begin(), fresh.end());
    if (unit.size() <= kLongestCached && impl_->cache.size() < kLargestCache)
      impl_->cache.emplace(std::string(unit), fresh);
  }
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  const auto status = impl_->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  NORMBENCH_CHECK(status.ok(), status.ToString());
  return text;
}

std::string Tokenizer::digest() const {
  StreamHash hash;
  for (int id = 0; id < impl_->processor.GetPieceSize(); ++id)
    hash.update(impl_->processor.IdToPiece(id) + "\n");
  return hash.hex();
}

}  // namespace normbench
