#include "suite/app/run_command.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "suite/app/required.h"
#include "suite/base/files.h"
#include "suite/base/fixed_environment.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

constexpr const char* kBringYourOwn =
    "`normbench data prepare --help` says how to bring your own tokens";

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

/// The files of a record, [name, bytes]. The manifest is last: a call that is killed before it is
/// written leaves what the next one takes over anew. Throws UserError unless all are there, and
/// what must be a JSON object is one.
std::vector<std::pair<std::string, std::string>> files_of_record(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string name : {"steps.jsonl.zst", "summary.json", "manifest.json"}) {
    const std::string path = folder + "/" + name;
    files.emplace_back(name, read_file(path));
    if (!name.ends_with(".json")) continue;
    const Json json = parse_json(files.back().second, path);
    const JsonObject must_be_an_object(json, path);
  }
  return files;
}

/// A published record of this run is as good as one of our own: the worker checks it like any other
/// and trains anew when this build would compute something else. One that is not whole is passed
/// over.
void adopt_published(const Project& project, const PlannedRun& run) {
  if (adoptable_records(project, run).empty()) return;
  const std::string own = project.runs() + "/" + run.run_id;
  // Another process may be training this run, and may have finished it when the lock is ours.
  const FileLock lock(own + "/lock", /*wait=*/true, "run " + run.run_id);
  for (const std::string& published : adoptable_records(project, run)) {
    try {
      for (const auto& [name, bytes] : files_of_record(published))
        write_file_atomically(own + "/" + name, bytes);
      return;
    } catch (const UserError& e) {
      log_warning(std::string("a published record is not taken over: ") + e.what());
    }
  }
}

/// The worker's command line, as the system calls want it.
class CommandLine {
 public:
  /// Throws UserError when the worker was not built.
  CommandLine(const Project& project, const std::vector<std::string>& arguments)
      : words_{project.worker()} {
    if (!std::filesystem::exists(project.worker()))
      throw UserError({.what = "the worker was not built",
                       .where = project.worker(),
                       .todo = "build the target normbench_worker"});
    complete_environment();  // which spares the worker loading LibTorch twice
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    for (auto& word : words_) raw_.push_back(word.data());
    raw_.push_back(nullptr);
  }
  const char* program() const { return words_.front().c_str(); }
  char* const* arguments() { return raw_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> raw_;
};

Plan plan_with(const Project& project, const std::string& name) {
  const auto [table, tier] = table_and_tier_of(name);
  return Plan(project, table, tier);
}

}  // namespace

int call_worker(const Project& project, const std::vector<std::string>& arguments) {
  CommandLine command(project, arguments);
  std::cout.flush();
  ::execv(command.program(), command.arguments());
  throw MachineError({.what = "the worker cannot be started",
                      .where = command.program(),
                      .found = std::strerror(errno)});
}

int run_worker(const Project& project, const std::vector<std::string>& arguments) {
  CommandLine command(project, arguments);
  std::cout.flush();
  pid_t worker = 0;
  int status = 0;
  if (const int error =
          ::posix_spawn(&worker, command.program(), nullptr, nullptr, command.arguments(), environ);
      error != 0)
    throw MachineError({.what = "the worker cannot be started",
                        .where = command.program(),
                        .found = std::strerror(error)});
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_command(const Project& project, const RunCommand& request) {
  const Plan plan = plan_with(project, request.name);
  const PlannedRun& run = plan.run(request.name);
  if (run.run_id.empty()) {
    const bool required = is_required("data");
    std::cout << run.name << (required ? ": " : ": skipped, ") << "the data set " << run.dataset
              << " is not prepared; " << kBringYourOwn << "\n";
    return required ? kExitMachine : kExitSkipped;
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
  if (request.keep_checkpoints) arguments.emplace_back("--keep-checkpoints");
  return call_worker(project, arguments);
}

int throughput_command(const Project& project, const ThroughputCommand& request) {
  const Plan plan = plan_with(project, request.name);
  const PlannedRun& run = plan.run(request.name);
  if (!run.task.empty())
    throw UserError({.what = "a measurement has no training steps",
                     .where = run.name,
                     .expected = "a run that trains an arm"});
  if (run.run_id.empty())  // its vocabulary, and so the last layer, is unknown
    throw UserError({.what = "the data set " + run.dataset + " is not prepared",
                     .where = run.name,
                     .todo = kBringYourOwn});
  return call_worker(project, {"throughput", "--steps", std::to_string(request.steps), "--config",
                               canonical(run.config)});
}

}  // namespace normbench
