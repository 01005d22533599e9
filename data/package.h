// Text out of a Debian package: fetched by apt-get, read with libarchive, never installed.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace normbench {

struct PackageFile {
  std::string path;     // of the .deb on this machine
  std::string version;  // from its control file
  std::string sha256;
};

/// The .deb of `package`: `by_hand` if given, else the newest below `downloads_folder`, else
/// `apt-get download` there. Throws UserError when `by_hand` is another package, MachineError when
/// apt-get is absent or has no network; both say how to bring the file by hand.
PackageFile fetch_package(const std::string& package, const std::string& downloads_folder,
                          const std::string& by_hand);

/// Files of the package whose path (without the leading "./") `wanted` accepts, sorted by path,
/// with their bytes.
std::vector<std::pair<std::string, std::string>> read_package(
    const std::string& deb, const std::function<bool(const std::string&)>& wanted);

/// Undoes gzip (dictzip is gzip). Throws UserError when the stream is broken; `where` names it.
std::string gunzip(const std::string& bytes, const std::string& where);

}  // namespace normbench
