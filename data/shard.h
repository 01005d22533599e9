// Token shards on disk, in the format of llm.c (and in two bare ones that are read as they are).
// Torch-free.
//
//   llm.c shard  = 256 little-endian int32 (the header), then the tokens
//     header[0]  magic: 20240520 (tokens are uint16) or 20240801 (tokens are uint32)
//     header[1]  version: 1 for uint16, 7 for uint32
//     header[2]  number of tokens; the other 253 words are 0
//   raw tokens   = tokens only: nanoGPT's train.bin and val.bin (uint16), Megatron-LM's .bin
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace normbench {

constexpr int32_t kShardHeaderWords = 256;
constexpr int64_t kShardHeaderBytes = 4 * kShardHeaderWords;
constexpr int32_t kShardMagic16 = 20240520, kShardVersion16 = 1;
constexpr int32_t kShardMagic32 = 20240801, kShardVersion32 = 7;
/// Ids below this fit into uint16.
constexpr int64_t kVocabulary16 = 65536;
/// More than any tokeniser has, and the most that a model takes (suite/base/limits.h).
constexpr int64_t kMostVocabulary = 1'000'000;

/// A file mapped read-only into memory. Throws UserError when it cannot be opened.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
};

/// A run of tokens inside a mapped file; `width` is 2 (uint16) or 4 (uint32), little-endian.
struct TokenSpan {
  std::shared_ptr<const MappedFile> file;
  int64_t first_byte = 0;
  int64_t tokens = 0;
  int width = 2;

  std::string_view bytes() const { return file->bytes().substr(first_byte, tokens * width); }
  /// Copies tokens [offset, offset + count).
  void read(int64_t offset, int64_t count, int64_t* out) const;
};

/// Checks header and length of an llm.c shard. Throws UserError: wrong magic or version, cut,
/// longer than it says.
TokenSpan open_llmc_shard(const std::string& path);
/// A file of bare tokens. Throws UserError when its length is no multiple of `width`.
TokenSpan open_raw_shard(const std::string& path, int width);

/// Writes shards `<folder>/<stem>_000000.bin`, ... of at most `max_tokens` each; uint32 for a
/// vocabulary above 65536. No file counts before finish(): the header's token count is written
/// last.
class ShardWriter {
 public:
  ShardWriter(std::string folder, std::string stem, int64_t vocabulary,
              int64_t max_tokens = 100'000'000);
  /// Throws UserError on an id outside of the vocabulary, MachineError when the disk is full.
  void append(std::span<const int32_t> ids);
  void finish();
  int64_t tokens() const { return total_; }
  int width() const { return width_; }
  /// Names of the files inside the folder.
  const std::vector<std::string>& files() const { return files_; }

 private:
  void open_next();
  void close_shard();
  void flush();

  std::string folder_, stem_;
  int64_t vocabulary_, max_tokens_;
  int width_;
  std::ofstream out_;
  std::string buffer_;
  int64_t in_shard_ = 0, total_ = 0;
  std::vector<std::string> files_;
};

}  // namespace normbench
