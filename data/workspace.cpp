#include "data/workspace.h"

#include <fcntl.h>
#include <stdio.h>

#include <filesystem>

#include "suite/base/log.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

std::string lock_path(const std::string& cache, const std::string& name) {
  dataset_folder(cache, name);  // throws on a name that leaves the cache
  return cache + "/datasets/." + name + ".lock";
}

}  // namespace

Workspace::Workspace(const std::string& cache, const std::string& name)
    : cache_(cache),
      name_(name),
      target_(dataset_folder(cache, name)),
      folder_(cache + "/datasets/." + name + ".part"),
      lock_(lock_path(cache, name), /*wait=*/true, "the data set " + name) {
  std::error_code error;
  fs::remove_all(folder_, error);
  const std::string old = folder_ + ".old";
  if (fs::exists(old)) {  // killed between the two renames of commit()
    if (fs::exists(target_))
      fs::remove_all(old, error);
    else
      fs::rename(old, target_);
  }
  make_folders(folder_);
}

Workspace::~Workspace() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

bool Workspace::already_there(const std::string& spec_digest) const {
  if (!fs::exists(target_)) return false;
  try {
    const Sidecar sidecar = read_sidecar(cache_, name_);
    if (sidecar.spec_digest != spec_digest) {
      log_info("the data set " + name_ +
               " was prepared from another specification: preparing it again");
      return false;
    }
    for (const auto& file : sidecar.files)
      for (const auto& damage : damages(target_, file, /*thorough=*/true))
        throw UserError({.what = damage});
    log_info("the data set " + name_ + " is prepared already (" +
             std::to_string(sidecar.train.tokens) + " + " +
             std::to_string(sidecar.validation.tokens) + " tokens): nothing to do; " +
             digests_text(sidecar));
    return true;
  } catch (const UserError& error) {
    log_warning("the data set " + name_ + " is damaged and is prepared again: " + error.what());
    return false;
  }
}

void Workspace::commit(Sidecar sidecar) {
  for (auto& file : sidecar.files) file = digest_file(folder_, file.path);
  write_sidecar(folder_, sidecar);
  sync_folder(folder_);
  // A reader sees the old data set or the new one: the two folders change places in one step, where
  // the file system can.
  if (::renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    const std::string old = folder_ + ".old";
    if (fs::exists(target_)) fs::rename(target_, old);
    fs::rename(folder_, target_);
    std::error_code error;
    fs::remove_all(old, error);
  }
  sync_folder(cache_ + "/datasets");
}

}  // namespace normbench
