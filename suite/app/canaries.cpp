#include "suite/app/canaries.h"

#include <csignal>
#include <filesystem>

#include "suite/app/doctor_command.h"
#include "suite/app/run_command.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/record_digest.h"

namespace normbench {
namespace {

/// The worker has said what went wrong; whose fault it is (the machine's, a person's Ctrl-C, the
/// build's) stays what it was.
void refuse_failed_canaries(const PlannedTier& planned, int code) {
  stop_if_interrupted();
  if (code == kExitInterrupted || code == 128 + SIGTERM)
    throw Interrupted("interrupted while the canaries ran; the same command goes on from there");
  if (code == kExitOk) return;
  const ErrorText text = {.what =
                              "this build cannot run its canaries, so that nobody can say "
                              "whether the records are of this build",
                          .where = planned.table->file + ", tier " + planned.tier->name,
                          .found = "normbench-worker ended with " + std::to_string(code)};
  if (code == kExitMachine) throw MachineError(text);
  throw UserError(text);
}

}  // namespace

std::string canary_id(const PlannedRun& run) { return run_id_of(run.canary); }

std::map<std::string, CanaryResult> known_canaries(const Project& project,
                                                   const PlannedTier& planned) {
  std::map<std::string, CanaryResult> known;
  if (!std::filesystem::exists(project.worker())) return known;
  const std::string build_id = xxh3_file(project.worker());
  for (const auto& run : planned.runs) {
    const std::string id = canary_id(run);
    if (known.contains(id)) continue;
    if (const auto canary = remembered_canary(project.canaries() + "/" + id + ".json", build_id))
      known[id] = *canary;
  }
  return known;
}

void run_missing_canaries(const Project& project, const PlannedTier& planned,
                          const std::function<bool(const PlannedRun&)>& wanted) {
  if (!why_no_device(project, planned.tier->device).empty()) return;
  const auto find_missing = [&] {
    const auto known = known_canaries(project, planned);
    std::map<std::string, std::string> missing;
    for (const auto& run : planned.runs)
      if (wanted(run) && !known.contains(canary_id(run)))
        missing[canary_id(run)] = canonical(run.canary);
    return missing;
  };
  if (find_missing().empty()) return;  // which a folder that is read-only does not hinder
  // Checks run side by side and want the same ones: the first runs them, the others find them.
  make_folders(project.canaries());
  const FileLock lock(project.canaries() + "/.lock", /*wait=*/true, "the canaries");
  const auto missing = find_missing();
  if (missing.empty()) return;
  std::vector<std::string> arguments = {"canary", "--cache", project.cache()};
  for (const auto& [id, config] : missing) arguments.insert(arguments.end(), {"--canary", config});
  refuse_failed_canaries(planned, run_worker(project, arguments));
}

}  // namespace normbench
