#include "suite/app/doctor_command.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "suite/app/required.h"

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
  std::string missing;
  for (const char* flag : {"avx2", "bmi2", "f16c", "fma", "movbe"})
    if (flags.find(std::string(" ") + flag + " ") == std::string::npos)
      missing += std::string(missing.empty() ? "" : ", ") + flag;
  return missing;
}

void say(bool good, const std::string& what, const std::string& detail,
         const std::string& todo = "") {
  fmt::print("  {} {:<12} {}\n", good ? "ok     " : "missing", what, detail);
  if (!good && !todo.empty()) fmt::print("                       to do: {}\n", todo);
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

bool gpu_present() { return fs::exists("/dev/nvidia0") || fs::exists("/dev/nvidiactl"); }

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
    if (gpu_present()) return kExitOk;
    if (is_required("gpu"))
      throw MachineError({.what = "a GPU is required and there is none",
                          .where = "NORMBENCH_REQUIRE",
                          .todo = "check the driver (nvidia-smi)"});
    fmt::print("skipped: there is no NVIDIA GPU on this machine\n");
    return kExitSkipped;
  }

  struct sysinfo memory {};
  ::sysinfo(&memory);
  const double memory_gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1 << 30);
  std::error_code error;
  const auto space = fs::space(project.root, error);
  const double free_gb = error ? 0 : static_cast<double>(space.available) / 1e9;
  fmt::print(
      "machine: {}, {} cores, {:.0f} GiB memory, {:.0f} GB free on the disk of the checkout\n",
      cpu_line("model name"), std::thread::hardware_concurrency(), memory_gib, free_gb);
  const std::string missing = missing_instructions();
  say(missing.empty(), "instructions", missing.empty() ? "x86-64-v3 or better" : "no " + missing,
      "another machine");
  say(free_gb > 3, "disk", fmt::format("{:.0f} GB free, 3 GB wanted", free_gb), "free some space");
  say(memory_gib > 3, "memory", fmt::format("{:.0f} GiB, 3 GiB wanted", memory_gib));
  say(fs::exists(project.worker()), "worker", project.worker(),
      "build the target normbench_worker");
  say(fs::exists(project.registry()), "registry", project.registry(),
      "build the target normbench_worker");
  const bool writable = ::access(project.root.c_str(), W_OK) == 0;
  say(writable, "results", writable ? "writable" : "the checkout is not writable",
      "chown or chmod it");
  say(program_present("gnuplot"), "gnuplot", "plots of the report", "apt-get install gnuplot-nox");
  say(program_present("apt-get"), "apt-get", "fetches the default corpora",
      "give the packages by hand: normbench data prepare --deb");
  say(gpu_present(), "gpu",
      gpu_present() ? "NVIDIA device present" : "the tiers gpu and paper are skipped here");
  fmt::print("can run: {}\n",
             missing.empty() ? (gpu_present() ? "smoke, cpu, gpu" : "smoke, cpu") : "nothing");
  return kExitOk;
}

}  // namespace normbench
