#include "suite/base/record_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "suite/base/files.h"

namespace normbench {
namespace {

constexpr int kLevel = 9;  // lines of digits: 19 saves 2 % more and costs ten times the time

std::string compress_frame(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  NORMBENCH_CHECK(!ZSTD_isError(size), ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

}  // namespace

std::vector<std::string> read_record_lines(const std::string& path, size_t* cut_bytes) {
  const std::string bytes = read_file(path);
  std::vector<std::string> lines;
  size_t offset = 0;
  while (offset < bytes.size()) {
    const size_t frame_size =
        ZSTD_findFrameCompressedSize(bytes.data() + offset, bytes.size() - offset);
    if (ZSTD_isError(frame_size)) {
      // Fewer bytes than the frame needs is what a kill leaves; anything else is damage.
      if (ZSTD_getErrorCode(frame_size) == ZSTD_error_srcSize_wrong) break;
      throw UserError({.what = "a record stream is damaged",
                       .where = path + ", byte " + std::to_string(offset),
                       .found = ZSTD_getErrorName(frame_size),
                       .todo = "delete the run's folder and run it again"});
    }
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data() + offset, frame_size);
    const bool known =
        size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR && size < (1ull << 32);
    std::string text(known ? size : 0, '\0');
    const size_t written =
        ZSTD_decompress(text.data(), text.size(), bytes.data() + offset, frame_size);
    if (ZSTD_isError(written) || written != text.size())
      throw UserError({.what = "a record stream is damaged",
                       .where = path + ", byte " + std::to_string(offset),
                       .found = ZSTD_isError(written) ? ZSTD_getErrorName(written) : "wrong length",
                       .todo = "delete the run's folder and run it again"});
    for (size_t start = 0; start < text.size();) {
      const size_t end = text.find('\n', start);
      lines.push_back(text.substr(start, end - start));
      if (end == std::string::npos) break;
      start = end + 1;
    }
    offset += frame_size;
  }
  if (cut_bytes != nullptr) *cut_bytes = bytes.size() - offset;
  return lines;
}

RecordWriter::RecordWriter(const std::string& path, size_t keep_lines) : path_(path) {
  std::string kept;
  if (std::filesystem::exists(path)) {
    const auto lines = read_record_lines(path);
    for (size_t i = 0; i < std::min(keep_lines, lines.size()); ++i) kept += lines[i] + "\n";
  }
  // The kept lines become one frame again: the file never holds lines that a later step will write
  // a second time.
  write_file_atomically(path, kept.empty() ? "" : compress_frame(kept));
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0)
    throw MachineError(
        {.what = "a record cannot be opened", .where = path, .found = std::strerror(errno)});
}

RecordWriter::~RecordWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void RecordWriter::flush() {
  if (pending_.empty()) return;
  const std::string frame = compress_frame(pending_);
  const off_t before = ::lseek(fd_, 0, SEEK_END);
  size_t done = 0;
  while (done < frame.size()) {
    const ssize_t n = ::write(fd_, frame.data() + done, frame.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int reason = errno;
      if (::ftruncate(fd_, before) != 0) { /* the reader drops the cut frame */
      }
      throw MachineError(
          {.what = "a record cannot be written",
           .where = path_,
           .found = std::strerror(reason),
           .todo = "free some space and call again: the run goes on from its last checkpoint"});
    }
    done += static_cast<size_t>(n);
  }
  ::fdatasync(fd_);
  pending_.clear();
}

}  // namespace normbench
