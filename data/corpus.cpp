#include "data/corpus.h"

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "suite/base/hash.h"
#include "suite/base/random.h"

namespace normbench {

Split split_of(std::string_view key, double validation_share) {
  const double uniform = static_cast<double>(xxh3_64(key) >> 11) * 0x1.0p-53;
  return uniform < validation_share ? Split::kValidation : Split::kTrain;
}

std::string valid_utf8(std::string_view text, int64_t* replaced) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    bool good = length > 0 && i + length <= text.size();
    for (size_t k = 1; good && k < length; ++k)
      good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (good && length >= 3) {  // over-long forms, surrogates, and code points above U+10FFFF
      const auto second = static_cast<unsigned char>(text[i + 1]);
      good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F) &&
             !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second > 0x8F);
    }
    if (good) {
      out.append(text, i, length);
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++*replaced;
      ++i;
    }
  }
  return out;
}

void ShuffledCorpus::for_each(const std::function<void(const Document&)>& f) const {
  for (const auto& document : documents_) f(document);
}

void ShuffledCorpus::shuffle_(std::string_view name) {
  if (documents_.empty()) return;
  const Permutation order(documents_.size(), 0, "data/" + std::string(name));
  std::vector<Document> shuffled(documents_.size());
  for (size_t i = 0; i < shuffled.size(); ++i) shuffled[i] = std::move(documents_[order(i)]);
  documents_ = std::move(shuffled);
}

void Chunker::line(std::string_view line) {
  while (line.size() > longest_line_) {
    finish();
    size_t cut = line.rfind(' ', longest_line_);
    if (cut == std::string_view::npos || cut == 0)
      for (cut = longest_line_; cut > 1 && (static_cast<unsigned char>(line[cut]) & 0xC0) == 0x80;
           --cut) {
      }  // not inside of a character
    chunk_ = line.substr(0, cut);
    finish();
    line.remove_prefix(line[cut] == ' ' ? cut + 1 : cut);
  }
  const bool blank = line.find_first_not_of(" \t") == std::string_view::npos;
  if (!blank || !chunk_.empty()) {
    chunk_ += line;
    chunk_ += '\n';
  }
  if (chunk_.size() >= (blank ? chunk_bytes_ : 2 * chunk_bytes_)) finish();
}

void Chunker::finish() {
  while (!chunk_.empty() &&
         (chunk_.back() == '\n' || chunk_.back() == ' ' || chunk_.back() == '\t'))
    chunk_.pop_back();
  if (!chunk_.empty()) f_(std::exchange(chunk_, {}));
}

namespace {

/// Bytes of a file, plain or zstd, piece by piece.
class PieceReader {
 public:
  explicit PieceReader(const std::string& path)
      : path_(path),
        in_(path, std::ios::binary),
        piece_(1 << 18, '\0'),
        plain_(1 << 18, '\0'),
        zstd_(path.ends_with(".zst") ? ZSTD_createDStream() : nullptr, &ZSTD_freeDStream) {
    if (!in_ || std::filesystem::is_directory(path))
      throw UserError(
          {.what = "a text file cannot be read", .where = path, .found = std::strerror(errno)});
  }
  /// An empty piece at the end.
  std::string_view next() {
    if (!zstd_) return fill();
    while (true) {
      if (input_.pos == input_.size) {
        const auto piece = fill();
        if (piece.empty()) {
          if (state_ != 0) fail("the stream ends inside of a frame");
          return {};
        }
        input_ = {piece.data(), piece.size(), 0};
      }
      ZSTD_outBuffer output{plain_.data(), plain_.size(), 0};
      state_ = ZSTD_decompressStream(zstd_.get(), &output, &input_);
      if (ZSTD_isError(state_)) fail(ZSTD_getErrorName(state_));
      if (output.pos > 0) return {plain_.data(), output.pos};
    }
  }

 private:
  std::string_view fill() {
    in_.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
    if (in_.bad())  // the rest of the file would be missing without a word
      throw UserError({.what = "a text file cannot be read to its end",
                       .where = path_,
                       .found = std::strerror(errno),
                       .todo = "check the disk, or copy the file anew"});
    return {piece_.data(), static_cast<size_t>(in_.gcount())};
  }
  [[noreturn]] void fail(const std::string& found) {
    throw UserError({.what = "a zstd file is broken",
                     .where = path_,
                     .found = found,
                     .todo = "fetch or compress it again"});
  }
  std::string path_;
  std::ifstream in_;
  std::string piece_, plain_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> zstd_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  size_t state_ = 0;
};

}  // namespace

void for_each_line(const std::string& path,
                   const std::function<void(std::string_view, int64_t)>& f) {
  PieceReader reader(path);
  std::string rest;  // of a line that goes on in the next piece
  int64_t number = 0;
  const auto give = [&](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line, ++number);
  };
  for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
    for (size_t end; (end = piece.find('\n')) != std::string_view::npos;
         piece.remove_prefix(end + 1)) {
      if (rest.empty()) {
        give(piece.substr(0, end));
      } else {
        rest += piece.substr(0, end);
        give(rest);
        rest.clear();
      }
    }
    rest += piece;
  }
  if (!rest.empty()) give(rest);
}

CorpusSources file_sources(const std::vector<std::string>& files) {
  CorpusSources sources;
  for (const auto& file : files) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    if (error)
      throw UserError(
          {.what = "a text file cannot be read", .where = file, .found = error.message()});
    sources.push_back({{"file", file}, {"bytes", bytes}, {"digest", xxh3_file(file)}});
  }
  return sources;
}

}  // namespace normbench
