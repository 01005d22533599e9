#include "data/package.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/log.h"

extern char** environ;

namespace normbench {
namespace {

namespace fs = std::filesystem;

std::string by_hand_advice(const std::string& package) {
  return "on a machine with a network run `apt-get download " + package +
         "` (or take the file from "
         "https://packages.debian.org/" +
         package + "), then call `normbench data prepare NAME --deb FILE`";
}

/// Of a file that a person gave with --deb, or of one that was fetched: a reader sees only bytes.
constexpr const char* kGetItAnew =
    "get the file anew; one in the cache's downloads folder is fetched again once it is deleted";

/// A libarchive reader over bytes in memory.
class ArchiveReader {
 public:
  ArchiveReader(const std::string& bytes, const std::string& where) : where_(where) {
    archive_read_support_filter_all(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_ar(reader_.get());
    if (archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) fail();
  }
  /// False at the end.
  bool next(std::string* path) {
    archive_entry* entry = nullptr;
    const int rc = archive_read_next_header(reader_.get(), &entry);
    if (rc == ARCHIVE_EOF) return false;
    if (rc != ARCHIVE_OK) fail();
    *path = archive_entry_pathname(entry);
    if (path->rfind("./", 0) == 0) path->erase(0, 2);
    return true;
  }
  std::string read() {
    std::string bytes;
    char piece[65536];
    while (true) {
      const la_ssize_t n = archive_read_data(reader_.get(), piece, sizeof(piece));
      if (n < 0) fail();
      if (n == 0) return bytes;
      bytes.append(piece, static_cast<size_t>(n));
    }
  }

 private:
  [[noreturn]] void fail() {
    const char* text = archive_error_string(reader_.get());
    throw UserError({.what = "a package cannot be unpacked",
                     .where = where_,
                     .found = text ? text : "unknown format",
                     .expected = "a Debian package: ar with control.tar and data.tar",
                     .todo = kGetItAnew});
  }
  std::string where_;
  std::unique_ptr<archive, decltype(&archive_read_free)> reader_{archive_read_new(),
                                                                 &archive_read_free};
};

/// The member of the outer ar archive whose name starts with `prefix`.
std::string package_member(const std::string& deb, const std::string& prefix) {
  const std::string bytes = read_file(deb);
  ArchiveReader reader(bytes, deb);
  for (std::string path; reader.next(&path);)
    if (path.rfind(prefix, 0) == 0) return reader.read();
  throw UserError(
      {.what = "not a Debian package", .where = deb, .found = "no member " + prefix + "*"});
}

/// Value of a field of the control file ("Package", "Version").
std::string control_field(const std::string& deb, const std::string& field) {
  const std::string bytes = package_member(deb, "control.tar");
  ArchiveReader reader(bytes, deb);
  for (std::string path; reader.next(&path);) {
    if (path != "control") continue;
    const std::string text = "\n" + reader.read();
    const size_t begin = text.find("\n" + field + ": ");
    if (begin == std::string::npos) break;
    const size_t value = begin + field.size() + 3;
    return text.substr(value, text.find('\n', value) - value);
  }
  throw UserError({.what = "not a Debian package",
                   .where = deb,
                   .found = "no field " + field + " in its control file"});
}

PackageFile describe(const std::string& package, const std::string& deb) {
  const std::string name = control_field(deb, "Package");
  if (name != package)
    throw UserError(
        {.what = "this is another package", .where = deb, .found = name, .expected = package});
  return {deb, control_field(deb, "Version"), sha256_file(deb)};
}

std::string newest_deb(const std::string& package, const std::string& folder) {
  std::string best;
  fs::file_time_type best_time;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind(package + "_", 0) != 0 || entry.path().extension() != ".deb") continue;
    if (best.empty() || entry.last_write_time() > best_time) {
      best = entry.path().string();
      best_time = entry.last_write_time();
    }
  }
  return best;
}

/// Runs a program without a shell, standard output and error into a file; returns its exit status
/// (-1: not started).
int run_program(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int rc = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (rc != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (interrupted()) {
      ::kill(child, SIGTERM);
      ::waitpid(child, &status, 0);
      stop_if_interrupted();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

PackageFile fetch_package(const std::string& package, const std::string& downloads_folder,
                          const std::string& by_hand) {
  if (!by_hand.empty()) return describe(package, by_hand);
  make_folders(downloads_folder);
  if (const std::string deb = newest_deb(package, downloads_folder); !deb.empty())
    return describe(package, deb);

  // apt-get writes into its working directory: a folder of our own, so that a cut download never
  // carries the final name.
  const std::string temporary = downloads_folder + "/" + package + ".part";
  fs::remove_all(temporary);
  make_folders(temporary);
  const std::string log = temporary + "/apt-get.log";
  log_info("fetching the Debian package " + package + " with apt-get into " + downloads_folder);
  // `env -C` changes the working directory of the child only.
  int rc = run_program({"env", "-C", temporary, "apt-get", "-q", "download", package}, log);
  std::string deb = newest_deb(package, temporary);
  if (deb.empty()) {
    const std::string said = fs::exists(log) ? read_file(log) : "";
    fs::remove_all(temporary);
    const size_t tail = said.size() > 600 ? said.size() - 600 : 0;
    throw MachineError(
        {.what = "the Debian package " + package + " could not be fetched",
         .where = "apt-get download " + package,
         .found = rc == 127 || rc == -1
                      ? "apt-get was not found or could not be started"
                      : "exit status " + std::to_string(rc) + ": " + said.substr(tail),
         .todo = "run `apt-get update` and check the network; or " + by_hand_advice(package)});
  }
  const std::string target = downloads_folder + "/" + fs::path(deb).filename().string();
  fs::rename(deb, target);
  fs::remove_all(temporary);
  return describe(package, target);
}

std::vector<std::pair<std::string, std::string>> read_package(
    const std::string& deb, const std::function<bool(const std::string&)>& wanted) {
  const std::string bytes = package_member(deb, "data.tar");
  ArchiveReader reader(bytes, deb);
  std::vector<std::pair<std::string, std::string>> files;
  for (std::string path; reader.next(&path);)
    if (wanted(path)) files.emplace_back(path, reader.read());
  std::sort(files.begin(), files.end());
  return files;
}

std::string gunzip(const std::string& bytes, const std::string& where) {
  z_stream stream{};
  NORMBENCH_CHECK(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "inflateInit2");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::string piece(1 << 18, '\0');
  int rc = Z_OK;
  while (rc == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    rc = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
    if (rc == Z_STREAM_END && stream.avail_in > 0)
      rc = inflateReset(&stream);  // several members in one file
  }
  inflateEnd(&stream);
  if (rc != Z_STREAM_END)
    throw UserError({.what = "a gzip stream is broken",
                     .where = where,
                     .found = "zlib says " + std::to_string(rc),
                     .todo = kGetItAnew});
  return out;
}

}  // namespace normbench
