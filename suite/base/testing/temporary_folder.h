// A folder of its own for one test, removed at the end.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "suite/base/files.h"

namespace normbench::testing {

class TemporaryFolder {
 public:
  enum Place {
    kMemory,  // where there is such a place: hundreds of small synced files cost nothing
    kDisk,    // where a sync takes its time, as it does for a real run
  };
  explicit TemporaryFolder(Place place = kMemory) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = place == kMemory && ::access(memory.c_str(), W_OK) == 0;
    path_ = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "normbench-XXXXXX")
                .string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// The folder, or something below it.
  std::string path(const std::string& below = "") const {
    return below.empty() ? path_ : path_ + "/" + below;
  }
  /// Writes a file below it; returns its path.
  std::string file(const std::string& name, const std::string& bytes) const {
    write_file_atomically(path(name), bytes);
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace normbench::testing
