#include "data/shard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "suite/base/errors.h"

namespace normbench {

static_assert(std::endian::native == std::endian::little,
              "shards are read and written as they lie in memory");

namespace {

template <class T>
void widen(const char* from, int64_t count, int64_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = value;
  }
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const std::string reason = fd < 0 ? std::strerror(errno) : "not a file";
    if (fd >= 0) ::close(fd);
    throw UserError({.what = "a data file cannot be read", .where = path, .found = reason});
  }
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) {
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      const std::string reason = std::strerror(errno);
      ::close(fd);
      throw MachineError(
          {.what = "a data file cannot be mapped into memory", .where = path, .found = reason});
    }
    data_ = static_cast<const char*>(data);
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

void TokenSpan::read(int64_t offset, int64_t count, int64_t* out) const {
  NORMBENCH_CHECK(
      offset >= 0 && count >= 0 && offset + count <= tokens,
      std::to_string(offset) + " + " + std::to_string(count) + " of " + std::to_string(tokens));
  const char* from = file->bytes().data() + first_byte + offset * width;
  if (width == 2)
    widen<uint16_t>(from, count, out);
  else
    widen<uint32_t>(from, count, out);
}

TokenSpan open_llmc_shard(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  const auto bytes = file->bytes();
  const auto fail = [&](const std::string& what, const std::string& found,
                        const std::string& expected) {
    throw UserError({.what = what,
                     .where = path,
                     .found = found,
                     .expected = expected,
                     .todo = "make the shard again with the program that wrote it"});
  };
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kShardHeaderBytes)
    fail("a token shard is cut", std::to_string(size) + " bytes",
         "at least a header of 1024 bytes");
  std::array<int32_t, 3> head{};
  std::memcpy(head.data(), bytes.data(), sizeof(head));
  const bool narrow = head[0] == kShardMagic16;
  if (!narrow && head[0] != kShardMagic32)
    fail("not a token shard of llm.c", "magic number " + std::to_string(head[0]),
         std::to_string(kShardMagic16) + " (uint16) or " + std::to_string(kShardMagic32) +
             " (uint32)");
  if (head[1] != (narrow ? kShardVersion16 : kShardVersion32))
    fail("unknown version of a token shard", std::to_string(head[1]),
         std::to_string(narrow ? kShardVersion16 : kShardVersion32));
  TokenSpan span{std::move(file), kShardHeaderBytes, head[2], narrow ? 2 : 4};
  const int64_t expected = kShardHeaderBytes + span.tokens * span.width;
  if (span.tokens < 0 || size != expected)
    fail(size < expected ? "a token shard is cut"
                         : "the length of a token shard contradicts its header",
         std::to_string(size) + " bytes",
         std::to_string(expected) + " bytes for the " + std::to_string(span.tokens) +
             " tokens of its header");
  return span;
}

TokenSpan open_raw_shard(const std::string& path, int width) {
  auto file = std::make_shared<const MappedFile>(path);
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (size % width != 0)
    throw UserError(
        {.what = "a token file is cut",
         .where = path,
         .found = std::to_string(size) + " bytes",
         .expected = "a multiple of " + std::to_string(width) + " bytes, the size of a token"});
  return {std::move(file), 0, size / width, width};
}

ShardWriter::ShardWriter(std::string folder, std::string stem, int64_t vocabulary,
                         int64_t max_tokens)
    : folder_(std::move(folder)),
      stem_(std::move(stem)),
      vocabulary_(vocabulary),
      max_tokens_(max_tokens),
      width_(vocabulary <= kVocabulary16 ? 2 : 4) {
  open_next();
}

void ShardWriter::open_next() {
  char name[32];
  std::snprintf(name, sizeof(name), "_%06zu.bin", files_.size());
  files_.push_back(stem_ + name);
  out_.open(folder_ + "/" + files_.back(), std::ios::binary | std::ios::trunc);
  buffer_.assign(kShardHeaderBytes, '\0');
  in_shard_ = 0;
}

void ShardWriter::append(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocabulary_)
      throw UserError({.what = "a token id lies outside of the vocabulary",
                       .where = folder_ + "/" + files_.back(),
                       .found = std::to_string(id),
                       .expected = "0 to " + std::to_string(vocabulary_ - 1)});
    if (in_shard_ == max_tokens_) {
      close_shard();
      open_next();
    }
    buffer_.append(reinterpret_cast<const char*>(&id),
                   static_cast<size_t>(width_));  // little-endian: low bytes first
    ++in_shard_;
    ++total_;
  }
  if (buffer_.size() > (1u << 20)) flush();
}

void ShardWriter::flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
  if (!out_)
    throw MachineError(
        {.what = "a token shard cannot be written",
         .where = folder_ + "/" + files_.back(),
         .found = std::strerror(errno),
         .todo = "free some space or make the folder writable; the next call starts cleanly"});
}

void ShardWriter::close_shard() {
  flush();
  std::array<int32_t, 3> head{width_ == 2 ? kShardMagic16 : kShardMagic32,
                              width_ == 2 ? kShardVersion16 : kShardVersion32,
                              static_cast<int32_t>(in_shard_)};
  out_.seekp(0);
  buffer_.assign(reinterpret_cast<const char*>(head.data()), sizeof(head));
  flush();
  out_.close();
  if (!out_)
    throw MachineError(
        {.what = "a token shard cannot be written",
         .where = folder_ + "/" + files_.back(),
         .found = std::strerror(errno),
         .todo = "free some space or make the folder writable; the next call starts cleanly"});
}

void ShardWriter::finish() { close_shard(); }

}  // namespace normbench
