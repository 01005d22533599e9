// steps.jsonl.zst: JSON lines in a chain of zstd frames, one frame a flush. A process killed at any
// byte leaves whole frames and at most one cut one, which the next open drops. Plain `zstd -dc`
// reads the file.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// The lines of all whole frames. A cut last frame is dropped (`*cut_bytes` says how many bytes); a
/// frame whose checksum does not match throws UserError with the byte offset.
std::vector<std::string> read_record_lines(const std::string& path, size_t* cut_bytes = nullptr);

class RecordWriter {
 public:
  /// Opens for appending; keeps the first `keep_lines` lines of an existing file and drops the
  /// rest.
  RecordWriter(const std::string& path, size_t keep_lines);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void append(const Json& line) { pending_ += canonical(line) + "\n"; }
  /// Writes what is pending as one frame and syncs it. Throws MachineError (disk full): the file
  /// then ends with whole frames.
  void flush();

 private:
  std::string path_;
  std::string pending_;
  int fd_ = -1;
};

}  // namespace normbench
