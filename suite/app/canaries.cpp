#include "suite/app/canaries.h"

#include <filesystem>

#include "suite/app/doctor_command.h"
#include "suite/app/run_command.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/record_digest.h"

namespace normbench {

std::string canary_id(const PlannedRun& run) { return run_id_of(run.canary); }

std::map<std::string, CanaryResult> known_canaries(const Project& project,
                                                   const PlannedTier& planned) {
  std::map<std::string, CanaryResult> known;
  if (!std::filesystem::exists(project.worker())) return known;
  const std::string build_id = xxh3_file(project.worker());
  for (const auto& run : planned.runs) {
    const std::string id = canary_id(run), file = project.canaries() + "/" + id + ".json";
    if (known.contains(id) || !std::filesystem::exists(file)) continue;
    const Json canary = read_json(file);
    if (canary.value("build_id", "") == build_id) known[id] = read_canary(canary);
  }
  return known;
}

void run_missing_canaries(const Project& project, const PlannedTier& planned,
                          const std::function<bool(const PlannedRun&)>& wanted) {
  if (planned.tier->device == "cuda" && !gpu_present()) return;
  // Checks run side by side and want the same ones: the first runs them, the others find them.
  make_folders(project.canaries());
  const FileLock lock(project.canaries() + "/.lock", /*wait=*/true, "the canaries");
  const auto known = known_canaries(project, planned);
  std::map<std::string, std::string> missing;
  for (const auto& run : planned.runs)
    if (wanted(run) && !known.contains(canary_id(run)))
      missing[canary_id(run)] = canonical(run.canary);
  if (missing.empty()) return;
  std::vector<std::string> arguments = {"canary", "--cache", project.cache()};
  for (const auto& [id, config] : missing) arguments.insert(arguments.end(), {"--canary", config});
  if (const int code = run_worker(project, arguments); code != 0)
    throw UserError({.what = "this build cannot run its canaries, so that nobody can say whether "
                             "the records are of this build",
                     .where = planned.table->file + ", tier " + planned.tier->name,
                     .found = "normbench-worker ended with " + std::to_string(code)});
}

}  // namespace normbench
