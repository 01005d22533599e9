// The place where one data set is prepared: locked against a second process, built in a temporary
// folder, renamed at the end.
#pragma once

#include <string>

#include "data/sidecar.h"
#include "suite/base/files.h"

namespace normbench {

class Workspace {
 public:
  /// Waits for another process that prepares the same data set, then removes what a killed one
  /// left.
  Workspace(const std::string& cache, const std::string& name);
  /// Removes the temporary folder unless commit() came.
  ~Workspace();

  /// True when the data set is there, whole, and made from the same specification; says so, or says
  /// why not.
  bool already_there(const std::string& spec_digest) const;
  const std::string& folder() const { return folder_; }
  /// Digests the files of the folder, writes the sidecar, renames the folder into place.
  void commit(Sidecar sidecar);

 private:
  std::string cache_, name_, target_, folder_;
  FileLock lock_;
};

}  // namespace normbench
