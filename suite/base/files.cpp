#include "suite/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "suite/base/errors.h"
#include "suite/base/interrupt.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

std::string todo_for(int error) {
  switch (error) {
    case ENOSPC:
      return "free some space; what was finished is kept, the next call goes on";
    case EACCES:
    case EPERM:
      return "make its folder writable for this user (chown, chmod)";
    case EROFS:
      return "mount it writable, or work in a folder that is";
    case ENOTDIR:
      return "move away the file that lies where a folder must be";
    case EISDIR:
      return "move away the folder that lies there, or name a file in it";
    default:
      return "";
  }
}

[[noreturn]] void machine_error(const std::string& what, const std::string& path) {
  const int error = errno;
  throw MachineError(
      {.what = what, .where = path, .found = std::strerror(error), .todo = todo_for(error)});
}

/// Closes on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// False when another process holds the lock.
bool try_lock(int fd, const std::string& path) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) machine_error("a lock cannot be taken", path);
  }
  return true;
}

}  // namespace

std::string read_file(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0)
    throw UserError(
        {.what = "a file cannot be read", .where = path, .found = std::strerror(errno)});
  struct stat info {};
  if (::fstat(file.fd, &info) != 0 || S_ISDIR(info.st_mode))
    throw UserError({.what = "a file cannot be read", .where = path, .found = "not a file"});
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (true) {
    if (done == bytes.size()) bytes.resize(done + 65536);
    const ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw UserError(
          {.what = "a file cannot be read", .where = path, .found = std::strerror(errno)});
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::filesystem::path target(path);
  if (target.has_parent_path()) make_folders(target.parent_path().string());
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  const auto give_up = [&](const std::string& what) {
    const int saved = errno;
    ::unlink(temporary.c_str());
    errno = saved;
    machine_error(what, path);
  };
  {
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.fd < 0) give_up("a file cannot be written");
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) give_up("a file cannot be written");
      done += static_cast<size_t>(n);
    }
    if (::fsync(file.fd) != 0) give_up("a file cannot be synced");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    give_up("a file cannot be renamed into place");
  sync_folder(target.has_parent_path() ? target.parent_path().string() : ".");
}

void sync_folder(const std::string& path) {
  Descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0)
    ::fsync(folder.fd);  // some file systems refuse; the rename itself is still atomic
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw MachineError({.what = "a folder cannot be created",
                        .where = path,
                        .found = error.message(),
                        .todo = "make the parent folder writable, or choose another one"});
}

FileLock::FileLock(const std::string& path, bool wait, const std::string& purpose) {
  const std::filesystem::path target(path);
  if (target.has_parent_path()) make_folders(target.parent_path().string());
  Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
  if (file.fd < 0) machine_error("a lock file cannot be opened", path);
  constexpr auto kPause = std::chrono::milliseconds(50);
  constexpr int kPausesUnsaid = 20;  // checks that run side by side take turns in no time
  for (int pauses = 0; !try_lock(file.fd, path); ++pauses) {
    if (!wait)
      throw UserError({.what = purpose + " is in use by another process",
                       .where = path,
                       .todo = "wait for it to finish; the lock goes with the process"});
    // A blocking flock() would sleep through the first signal: handlers restart system calls.
    stop_if_interrupted();
    if (pauses == kPausesUnsaid)
      log_info("waiting for another process, which is at work on " + purpose);
    std::this_thread::sleep_for(kPause);
  }
  fd_ = std::exchange(file.fd, -1);
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace normbench
