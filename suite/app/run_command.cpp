#include "suite/app/run_command.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "suite/app/required.h"
#include "suite/base/files.h"

namespace normbench {
namespace {

/// "angpt.convergence" and "cpu" of "run.angpt.convergence.cpu.gcide_1k....", so that one table is
/// read instead of all.
std::pair<std::string, std::string> table_and_tier_of(const std::string& name) {
  std::vector<std::string> parts;
  for (size_t start = 0; parts.size() < 4;) {
    const size_t dot = name.find('.', start);
    parts.push_back(name.substr(start, dot - start));
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  if (parts.size() < 4 || parts[0] != "run") return {"", ""};
  return {parts[1] + "." + parts[2], parts[3]};
}

/// A published record of this run, whichever table published it, is as good as one of our own: the
/// worker checks it like any other and trains anew when this build or machine would compute other
/// bits.
void adopt_published(const Project& project, const PlannedRun& run) {
  namespace fs = std::filesystem;
  const fs::path own = project.runs() + "/" + run.run_id;
  if (fs::exists(own / "manifest.json")) return;
  std::error_code absent;
  for (const auto& report : fs::directory_iterator(project.published(), absent)) {
    const fs::path published = report.path() / "runs" / run.run_id;
    if (!fs::exists(published / "summary.json")) continue;
    for (const char* file : {"manifest.json", "steps.jsonl.zst", "summary.json"})
      write_file_atomically((own / file).string(), read_file((published / file).string()));
    return;
  }
}

Plan plan_with(const Project& project, const std::string& name) {
  const auto [table, tier] = table_and_tier_of(name);
  return Plan(project, table, tier);
}

}  // namespace

int call_worker(const Project& project, const std::vector<std::string>& arguments) {
  const std::string worker = project.worker();
  if (!std::filesystem::exists(worker))
    throw UserError({.what = "the worker was not built",
                     .where = worker,
                     .todo = "build the target normbench_worker"});
  std::vector<std::string> all = {worker};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (auto& argument : all) raw.push_back(argument.data());
  raw.push_back(nullptr);
  std::cout.flush();
  ::execv(worker.c_str(), raw.data());
  throw MachineError(
      {.what = "the worker cannot be started", .where = worker, .found = std::strerror(errno)});
}

int run_command(const Project& project, const RunCommand& request) {
  const Plan plan = plan_with(project, request.name);
  const PlannedRun& run = plan.run(request.name);
  if (run.run_id.empty()) {
    const bool required = is_required("data");
    std::cout
        << run.name << (required ? ": " : ": skipped, ") << "the data set " << run.dataset
        << " is not prepared; `normbench data prepare --help` says how to bring your own tokens\n";
    return required ? kExitWrongUse : kExitSkipped;
  }
  adopt_published(project, run);
  std::vector<std::string> arguments = {"run",
                                        "--name",
                                        run.name,
                                        "--runs",
                                        project.runs(),
                                        "--cache",
                                        project.cache(),
                                        "--checkpoint-seconds",
                                        std::to_string(request.checkpoint_seconds),
                                        "--config",
                                        canonical(run.config),
                                        "--canary",
                                        canonical(run.canary)};
  if (request.keep_checkpoints) arguments.push_back("--keep-checkpoints");
  return call_worker(project, arguments);
}

int throughput_command(const Project& project, const ThroughputCommand& request) {
  const Plan plan = plan_with(project, request.name);
  return call_worker(project, {"throughput", "--steps", std::to_string(request.steps), "--config",
                               canonical(plan.run(request.name).config)});
}

}  // namespace normbench
