// Token shards that exist already, used where they lie: llm.c shards, nanoGPT's train.bin and
// val.bin, and the indexed files of Megatron-LM. Preparing one reads every token once, digests the
// files, and writes a sidecar; nothing is copied.
//
//   Megatron-LM <prefix>.idx, little-endian:
//     "MMIDIDX\0\0", uint64 version 1, uint8 type of the tokens (8: uint16, 4: int32),
//     uint64 number of sequences S, uint64 number of document bounds N,
//     int32 lengths[S], int64 byte offsets[S] into <prefix>.bin,
//     int64 document bounds[N]: indices of sequences, the first 0, the last S
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "data/dataset.h"
#include "data/workspace.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

struct Splits {
  std::vector<TokenSpan> train, validation;
};

/// fineweb_val_000000.bin, but neither retrieval_train_0.bin nor a folder of that name.
bool is_validation_shard(const std::string& file) {
  std::string word;
  for (const char c : fs::path(file).stem().string() + ".") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      if (word == "val" || word == "validation") return true;
      word.clear();
    }
  }
  return false;
}

Splits open_llmc(const std::vector<std::string>& files) {
  Splits splits;
  for (const auto& file : files)
    (is_validation_shard(file) ? splits.validation : splits.train).push_back(open_llmc_shard(file));
  if (splits.train.empty() || splits.validation.empty())
    throw UserError(
        {.what = "the llm.c shards make no two splits",
         .where = files.empty() ? "" : files.front(),
         .found = std::to_string(splits.train.size()) + " training and " +
                  std::to_string(splits.validation.size()) + " validation shards",
         .expected =
             "at least one of each; a file with the word \"val\" in its name (t_val_0.bin) is a "
             "validation shard"});
  for (const auto* split : {&splits.train, &splits.validation})
    for (const auto& span : *split)
      if (span.width != splits.train.front().width)
        throw UserError(
            {.what = "the shards mix uint16 and uint32 tokens", .where = span.file->path()});
  return splits;
}

Splits open_nanogpt(const std::string& folder) {
  return {{open_raw_shard(folder + "/train.bin", 2)}, {open_raw_shard(folder + "/val.bin", 2)}};
}

/// The index of a Megatron-LM data set, checked.
class MegatronIndex {
 public:
  explicit MegatronIndex(const std::string& path) : file_(path), path_(path) {
    constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
    if (file_.bytes().substr(0, 9) != kMagic)
      fail("not an index of Megatron-LM", "another first 9 bytes", "the magic MMIDIDX");
    at_ = 9;
    if (const auto version = next<uint64_t>(); version != 1)
      fail("unknown version of an index", std::to_string(version), "1");
    const int type = next<uint8_t>();
    if (type != 8 && type != 4)
      fail("unknown type of the tokens", "code " + std::to_string(type), "8 (uint16) or 4 (int32)");
    width_ = type == 8 ? 2 : 4;
    const auto sequences = next<uint64_t>(), bounds = next<uint64_t>();
    const uint64_t limit =
        file_.bytes()
            .size();  // a count above the file's own length is damage, and must not overflow
    if (sequences > limit || bounds > limit || at_ + sequences * 12 + bounds * 8 != limit ||
        bounds < 1)
      fail("an index is cut or too long", std::to_string(limit) + " bytes",
           "the length of " + std::to_string(sequences) + " sequences and " +
               std::to_string(bounds) + " bounds");
    int64_t tokens = 0;
    std::vector<int64_t> begins{0};
    for (uint64_t i = 0; i < sequences; ++i) {
      const auto length = next<int32_t>();
      if (length < 0) fail("a sequence has a negative length", std::to_string(length), "0 or more");
      begins.push_back(tokens += length);
    }
    for (uint64_t i = 0; i < sequences; ++i)
      if (const auto offset = next<int64_t>(); offset != begins[i] * width_)
        fail("the sequences do not lie one after the other",
             "sequence " + std::to_string(i) + " at byte " + std::to_string(offset),
             "byte " + std::to_string(begins[i] * width_));
    for (uint64_t i = 0; i < bounds; ++i) {
      const auto bound = next<int64_t>();
      if (bound < 0 || bound > static_cast<int64_t>(sequences))
        fail("a document bound lies outside", std::to_string(bound),
             "0 to " + std::to_string(sequences));
      const int64_t begin = begins[static_cast<size_t>(bound)];
      if (i == 0 ? bound != 0 : begin < document_begins_.back())
        fail("the document bounds do not ascend from 0",
             "bound " + std::to_string(i) + ": " + std::to_string(bound),
             i == 0 ? "0" : "one that is not before the bound in front of it");
      document_begins_.push_back(begin);
    }
    if (document_begins_.back() != tokens)
      fail("the last document ends before the last sequence",
           "token " + std::to_string(document_begins_.back()), "token " + std::to_string(tokens));
    tokens_ = tokens;
  }
  int width() const { return width_; }
  int64_t tokens() const { return tokens_; }
  /// The last document bound that leaves at least `share` of the tokens behind it.
  int64_t validation_begin(double share) const {
    const auto wanted = static_cast<int64_t>(static_cast<double>(tokens_) * (1 - share));
    int64_t best = 0;
    for (const int64_t begin : document_begins_)
      if (begin <= wanted) best = std::max(best, begin);
    if (best == 0)
      fail("the documents cannot be split",
           std::to_string(document_begins_.size()) + " document bounds",
           "a document that ends before the last part of the tokens");
    return best;
  }

 private:
  template <class T>
  T next() {
    if (at_ + sizeof(T) > file_.bytes().size())
      fail("an index is cut", std::to_string(file_.bytes().size()) + " bytes", "more");
    T value;
    std::memcpy(&value, file_.bytes().data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  [[noreturn]] void fail(const std::string& what, const std::string& found,
                         const std::string& expected) const {
    throw UserError({.what = what, .where = path_, .found = found, .expected = expected});
  }
  MappedFile file_;
  std::string path_;
  size_t at_ = 0;
  int width_ = 2;
  int64_t tokens_ = 0;
  std::vector<int64_t> document_begins_;  // in tokens
};

Splits open_megatron(const std::string& prefix, double validation_share) {
  const MegatronIndex index(prefix + ".idx");
  const TokenSpan all = open_raw_shard(prefix + ".bin", index.width());
  if (all.tokens != index.tokens())
    throw UserError({.what = "a token file contradicts its index",
                     .where = prefix + ".bin",
                     .found = std::to_string(all.tokens) + " tokens",
                     .expected = std::to_string(index.tokens())});
  const int64_t cut = index.validation_begin(validation_share);
  TokenSpan train = all, validation = all;
  train.tokens = cut;
  validation.first_byte = cut * all.width;
  validation.tokens = all.tokens - cut;
  return {{train}, {validation}};
}

/// Largest id of a split; throws UserError on one outside of the vocabulary.
int64_t largest_id(const std::vector<TokenSpan>& spans, int64_t vocabulary, Progress* progress,
                   double* done) {
  constexpr int64_t kPiece = 1 << 20;
  int64_t largest = 0;
  std::vector<int64_t> ids(kPiece);
  for (const auto& span : spans)
    for (int64_t at = 0; at < span.tokens; at += kPiece) {
      stop_if_interrupted();
      const int64_t n = std::min(kPiece, span.tokens - at);
      span.read(at, n, ids.data());
      for (int64_t i = 0; i < n; ++i) {
        const int64_t id = ids[static_cast<size_t>(i)];
        if (id >= vocabulary)
          throw UserError({.what = "a token id lies outside of the vocabulary",
                           .where = span.file->path() + ", byte " +
                                    std::to_string(span.first_byte + (at + i) * span.width),
                           .found = std::to_string(id),
                           .expected = "0 to " + std::to_string(vocabulary - 1),
                           .todo = "give the vocabulary of the tokeniser that made the shards, or "
                                   "mend the file"});
        largest = std::max(largest, id);
      }
      progress->update((*done += static_cast<double>(n)) / 1e6);
    }
  return largest;
}

SplitRecord record(const std::vector<TokenSpan>& spans, Sidecar* s) {
  SplitRecord split;
  for (const auto& span : spans) {
    const std::string path = span.file->path();
    const auto known = std::find_if(s->files.begin(), s->files.end(),
                                    [&](const auto& f) { return f.path == path; });
    split.parts.push_back({known - s->files.begin(), span.first_byte, span.tokens});
    if (known == s->files.end()) s->files.push_back({.path = path});
    split.tokens += span.tokens;
  }
  split.digest = token_digest(spans);
  return split;
}

}  // namespace

bool prepare_ready_made(const ReadyMade& request, const PrepareOptions& options) {
  if (request.files.empty())
    throw UserError({.what = "no token files were given for \"" + request.name + "\"",
                     .where = request.format});
  std::vector<std::string> files;
  for (const auto& file : request.files)
    files.push_back(fs::absolute(file).lexically_normal().string());
  std::vector<std::string> inputs = files;
  if (request.format == "nanogpt") inputs = {files[0] + "/train.bin", files[0] + "/val.bin"};
  if (request.format == "megatron") inputs = {files[0] + ".bin", files[0] + ".idx"};

  Workspace workspace(options.cache_folder, request.name);
  Sidecar s;
  s.name = request.name;
  s.spec = {{"format", request.format},
            {"inputs", file_stamps(inputs)},
            {"vocabulary", request.vocabulary},
            {"validation_share", request.validation_share}};
  s.spec_digest = xxh3_hex(canonical(s.spec));
  if (!options.again && workspace.already_there(s.spec_digest)) return false;

  Splits splits;
  if (request.format == "llmc")
    splits = open_llmc(files);
  else if (request.format == "nanogpt")
    splits = open_nanogpt(files[0]);
  else if (request.format == "megatron")
    splits = open_megatron(files[0], request.validation_share);
  else
    throw UserError({.what = "unknown format of token shards",
                     .found = request.format,
                     .expected = "llmc, nanogpt or megatron"});

  s.token_bytes = splits.train.front().width;
  s.train = record(splits.train, &s);
  s.validation = record(splits.validation, &s);
  if (s.train.tokens == 0 || s.validation.tokens == 0)
    throw UserError({.what = "a split of the data set \"" + request.name + "\" is empty",
                     .found = std::to_string(s.train.tokens) + " training and " +
                              std::to_string(s.validation.tokens) + " validation tokens"});
  const int64_t most = s.token_bytes == 2 ? kVocabulary16 : kMostVocabulary;
  if (request.vocabulary > most)
    throw UserError({.what = "a vocabulary that the tokens of these shards cannot have",
                     .where = splits.train.front().file->path(),
                     .found = std::to_string(request.vocabulary) + ", and " +
                              std::to_string(s.token_bytes) + " bytes a token",
                     .expected = "at most " + std::to_string(most),
                     .todo = "give the vocabulary of the tokeniser that made the shards"});
  const int64_t vocabulary = request.vocabulary > 0 ? request.vocabulary : most;
  double done = 0;
  Progress progress("read " + request.name,
                    static_cast<double>(s.train.tokens + s.validation.tokens) / 1e6, "M tokens");
  const int64_t in_train = largest_id(splits.train, vocabulary, &progress, &done);
  const int64_t in_validation = largest_id(splits.validation, vocabulary, &progress, &done);
  s.vocabulary =
      request.vocabulary > 0 ? request.vocabulary : std::max(in_train, in_validation) + 1;
  if (request.vocabulary == 0)
    s.warnings.push_back("no vocabulary was given: " + std::to_string(s.vocabulary) +
                         ", the largest id + 1, is used");
  if (request.format == "megatron") s.files.push_back({.path = files[0] + ".idx"});
  for (const auto& warning : s.warnings) log_warning(request.name + ": " + warning);
  for (const auto& input : inputs) s.sources.push_back({{"file", input}});
  workspace.commit(s);
  log_info(request.name + ": " + std::to_string(s.train.tokens) + " training and " +
           std::to_string(s.validation.tokens) + " validation tokens, used where they lie; " +
           digests_text(s));
  return true;
}

}  // namespace normbench
