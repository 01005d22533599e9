// Whole files: read, write so that a reader sees the old or the new one, lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace normbench {

/// Reads a whole file. Throws UserError when it is absent or unreadable.
std::string read_file(const std::string& path);

/// Temporary name in the same folder, write, fsync, rename, fsync of the folder: after a crash the
/// path holds the old bytes or the new ones. Creates missing parent folders. Throws MachineError
/// (disk full, not writable); the temporary file is removed.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// fsync of a folder, so that a rename in it survives a power cut.
void sync_folder(const std::string& path);

/// Creates a folder and its parents. Throws MachineError.
void make_folders(const std::string& path);

/// An exclusive advisory lock on `path` (created if absent), held until destruction; a killed
/// holder releases it.
class FileLock {
 public:
  /// wait = false: throws UserError saying who may hold it. wait = true: waits for it, says so
  /// once, after a second; throws Interrupted on SIGINT or SIGTERM (interrupt.h).
  FileLock(const std::string& path, bool wait, const std::string& purpose);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace normbench
