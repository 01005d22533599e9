#include "suite/app/doctor_command.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "suite/app/required.h"
#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/plan/registry.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

std::string cpu_line(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(line.find(':') + 2);
  return "";
}

/// Instructions that the kernels are compiled for (x86-64-v3).
std::string missing_instructions() {
  const std::string flags = " " + cpu_line("flags") + " ";
  if (flags.size() <= 2)
    return "";  // not x86: the kernels are compiled for the machine's base level
  std::vector<std::string> missing;
  for (const char* flag : {"avx2", "bmi2", "f16c", "fma", "movbe"})
    if (flags.find(std::string(" ") + flag + " ") == std::string::npos) missing.emplace_back(flag);
  return join(missing, ", ");
}

/// One line about what a run or a report needs.
struct Line {
  std::string what;
  bool good;
  std::string detail, todo = {};
};

void print(const Line& line) {
  fmt::print("  {} {:<12} {}\n", line.good ? "ok     " : "missing", line.what, line.detail);
  if (!line.good && !line.todo.empty()) fmt::print("                       to do: {}\n", line.todo);
}

/// Itself, or the folder in which it would be made.
fs::path existing_part(fs::path path) {
  std::error_code error;
  while (!fs::exists(fs::symlink_status(path, error)) && path != path.root_path())
    path = path.parent_path();
  return path;
}

/// Without these nothing runs.
std::vector<Line> needed(const Project& project, double memory_gib, double free_gb) {
  const std::string missing = missing_instructions();
  const fs::path results = existing_part(project.results());
  std::error_code error;
  const bool usable =
      fs::is_directory(results, error) && ::access(results.c_str(), R_OK | W_OK | X_OK) == 0;
  return {
      {"instructions", missing.empty(), missing.empty() ? "x86-64-v3 or better" : "no " + missing,
       "another machine"},
      {"disk", free_gb > 3, fmt::format("{:.0f} GB free, 3 GB wanted", free_gb), "free some space"},
      {"memory", memory_gib > 3, fmt::format("{:.0f} GiB, 3 GiB wanted", memory_gib)},
      {"worker", fs::exists(project.worker()), project.worker(),
       "build the target normbench_worker"},
      {"registry", fs::exists(project.registry()), project.registry(),
       "build the target normbench_worker"},
      {"results", usable,
       usable ? "readable and writable"
              : results.string() + " is no folder that can be read and written to",
       fs::is_directory(results, error)
           ? "make it readable and writable for this user (chown, chmod); on a read-only disk use "
             "another place"
           : "move away what lies there"}};
}

std::string missing_names(const std::vector<Line>& lines) {
  std::vector<std::string> missing;
  for (const auto& line : lines)
    if (!line.good) missing.push_back(line.what);
  return join(missing, ", ");
}

bool program_present(const char* name) {
  const char* path = std::getenv("PATH");
  for (const char* start = path; start != nullptr && *start != '\0';) {
    const char* end = std::strchr(start, ':');
    const std::string folder = end == nullptr ? start : std::string(start, end);
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
    start = end == nullptr ? nullptr : end + 1;
  }
  return false;
}

}  // namespace

std::string why_no_device(const Project& project, const std::string& device) {
  if (device != "cuda") return "";
  if (!fs::exists("/dev/nvidia0") && !fs::exists("/dev/nvidiactl"))
    return "there is no NVIDIA GPU on this machine";
  // Without a registry nothing was built, which is said elsewhere.
  if (fs::exists(project.registry()) && !is_one_of("cuda", Registry(project.registry()).devices()))
    return "this build has no code for the GPU: it wants the CUDA toolkit 13 with cuDNN 9 and NCCL "
           "2, and ./run_all.sh again";
  return "";
}

int doctor_command(const Project& project, const DoctorCommand& request) {
  if (!request.device.empty() && request.device != "cpu" && request.device != "cuda")
    throw UserError({.what = "no such device",
                     .found = "\"" + request.device + "\"",
                     .expected = "cpu or cuda"});
  if (request.device == "cpu") {
    const std::string missing = missing_instructions();
    if (missing.empty()) return kExitOk;
    throw MachineError({.what = "this CPU lacks instructions that the kernels use",
                        .found = "no " + missing,
                        .expected = "x86-64-v3 (about 2015 and later)"});
  }
  if (request.device == "cuda") {
    const std::string why = why_no_device(project, "cuda");
    if (why.empty()) return kExitOk;
    if (is_required("gpu"))
      throw MachineError({.what = "a GPU is required: " + why,
                          .where = "NORMBENCH_REQUIRE",
                          .todo = "check the driver (nvidia-smi)"});
    fmt::print("skipped: {}\n", why);
    return kExitSkipped;
  }

  struct sysinfo memory {};
  ::sysinfo(&memory);
  const double memory_gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1 << 30);
  std::error_code error;
  const auto space = fs::space(existing_part(project.results()), error);
  const double free_gb = error ? 0 : static_cast<double>(space.available) / 1e9;
  fmt::print("machine: {}, {} cores, {:.0f} GiB memory, {:.0f} GB free for results\n",
             cpu_line("model name"), std::thread::hardware_concurrency(), memory_gib, free_gb);
  const auto lines = needed(project, memory_gib, free_gb);
  for (const auto& line : lines) print(line);
  print({"gnuplot", program_present("gnuplot"), "plots of the report",
         "apt-get install gnuplot-nox"});
  print({"apt-get", program_present("apt-get"), "fetches the default corpora",
         "give the packages by hand: normbench data prepare --deb"});
  const std::string why = why_no_device(project, "cuda");
  print(
      {"gpu", why.empty(),
       why.empty() ? "NVIDIA device present" : "the tiers gpu and paper are skipped here: " + why});
  const std::string missing = missing_names(lines);
  if (missing.empty()) {
    fmt::print("can run: {}\n", why.empty() ? "smoke, cpu, gpu, paper" : "smoke, cpu");
    return kExitOk;
  }
  fmt::print("can run: nothing, for want of: {}\n", missing);
  return kExitMachine;
}

}  // namespace normbench
