// A file system of a few hundred kilobytes, to be filled.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace normbench::testing {

class SmallDisk {
 public:
  /// Mounts it at `folder`, which is made. Needs root: look at mounted().
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(folder_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  /// As somebody would who cleans up: what lies on it stays.
  bool grow() const {
    return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
  }

 private:
  std::string folder_;
  bool mounted_ = false;
};

}  // namespace normbench::testing
