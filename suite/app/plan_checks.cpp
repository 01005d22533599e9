#include "suite/app/plan_checks.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "data/sidecar.h"
#include "optim/schedule.h"
#include "suite/judge/claim.h"

namespace normbench {
namespace {

bool is_prepared(const Project& project, const std::string& dataset) {
  return std::filesystem::exists(dataset_folder(project.cache(), dataset) + "/dataset.json");
}

void check_datasets(const Project& project, const PlannedTier& planned,
                    const std::vector<std::string>& known) {
  for (const auto& setting : planned.tier->settings) {
    if (std::find(known.begin(), known.end(), setting.dataset) != known.end()) continue;
    if (is_prepared(project, setting.dataset)) continue;
    const bool brought = planned.tier->name == "gpu" || planned.tier->name == "paper";
    const std::string hint = nearest(setting.dataset, known);
    if (brought && hint.empty()) continue;
    throw UserError({.what = "unknown data set",
                     .where = planned.table->file + ", at /tiers/" + planned.tier->name +
                              "/settings/" + setting.name + "/dataset",
                     .found = "\"" + setting.dataset + "\"",
                     .expected = "a data set of suite/tables/data.json, or a prepared one",
                     .todo = (hint.empty() ? "" : "did you mean \"" + hint + "\"? ") +
                             std::string("Your own text: normbench data prepare --name ") +
                             setting.dataset + " --text FILE..."});
  }
}

void check_schedules(const PlannedTier& planned) {
  std::set<std::string> checked;  // arms have hundreds of runs, of a few lengths
  for (const auto& run : planned.runs) {
    if (!run.task.empty()) continue;
    const int64_t step_tokens = run.config.at("batch_sequences").get<int64_t>() *
                                run.config.at("size").at("context").get<int64_t>();
    const int64_t steps = run.token_budget / step_tokens;
    if (!checked.insert(run.arm + " " + std::to_string(steps)).second) continue;
    find_schedule(run.config.at("schedule").get<std::string>())
        .make(steps, run.peak_lr,
              JsonObject(run.config.at("schedule_options"), planned.table->file,
                         "/arms/" + run.arm + "/schedule_options"));
  }
}

}  // namespace

void check_planned(const Project& project, const PlannedTier& planned,
                   const std::vector<std::string>& datasets) {
  check_datasets(project, planned, datasets);
  check_schedules(planned);
  read_claims(claims_input(project, planned));
}

}  // namespace normbench
