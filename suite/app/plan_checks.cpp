#include "suite/app/plan_checks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "data/sidecar.h"
#include "optim/schedule.h"
#include "suite/base/names.h"
#include "suite/judge/claim.h"

namespace normbench {
namespace {

bool is_prepared(const Project& project, const std::string& dataset) {
  return std::filesystem::exists(dataset_folder(project.cache(), dataset) + "/dataset.json");
}

void check_datasets(const Project& project, const PlannedTier& planned,
                    const std::vector<std::string>& known) {
  for (const auto& setting : planned.tier->settings) {
    if (is_one_of(setting.dataset, known)) continue;
    if (is_prepared(project, setting.dataset)) continue;
    const bool brought = planned.tier->name == "gpu" || planned.tier->name == "paper";
    const std::string hint = did_you_mean(setting.dataset, known);
    if (brought && hint.empty()) continue;
    throw UserError({.what = "unknown data set",
                     .where = planned.table->file + ", at /tiers/" + planned.tier->name +
                              "/settings/" + setting.name + "/dataset",
                     .found = "\"" + setting.dataset + "\"",
                     .expected = "a data set of suite/tables/data.json, or a prepared one",
                     .todo = (hint.empty() ? "" : hint + " ") +
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

/// The letters are those of models/hybrid.h, which this program cannot include (torch).
void check_patterns(const PlannedTier& planned) {
  std::set<std::string> checked;
  for (const auto& run : planned.runs) {
    if (!run.task.empty() || !run.config.at("model_options").contains("pattern")) continue;
    if (!checked.insert(run.arm).second) continue;
    const auto pattern = run.config.at("model_options").at("pattern").get<std::string>();
    if (!pattern.empty() && pattern.find_first_not_of("ME*-") == std::string::npos) continue;
    throw UserError(
        {.what = "not a pattern of layers",
         .where = planned.table->file + ", at /arms/" + run.arm + "/model_options/pattern",
         .found = "\"" + pattern + "\"",
         .expected = "letters M (Mamba-2), E (experts), * (attention), - (MLP)"});
  }
}

/// Pairs of entries of a head are turned: models/layers.h says so too, but only when it is built.
void check_rope(const PlannedTier& planned) {
  for (const auto& run : planned.runs) {
    if (!run.task.empty() || !run.config.at("model_options").contains("rope_fraction")) continue;
    const auto head = run.config.at("size").at("head_width").get<double>();
    const double pairs =
        run.config.at("model_options").at("rope_fraction").get<double>() * head / 2;
    if (pairs >= 1 && std::abs(pairs - std::round(pairs)) < 1e-9) continue;
    throw UserError(
        {.what = "this part of a head cannot be turned in pairs",
         .where = planned.table->file + ", at /arms/" + run.arm + "/model_options/rope_fraction",
         .found = Json(2 * pairs).dump() + " of " + Json(head).dump() + " entries",
         .expected = "an even number of entries"});
  }
}

/// Where two curves cross is read between two budgets, and so is how a gap in validation loss
/// grows.
void check_ladders(const PlannedTier& planned, const std::vector<Claim>& claims) {
  for (const auto& claim : claims) {
    const bool crosses = claim.rule == "crossing";
    if (!crosses && !(claim.rule == "gap_growth" && claim.of == "validation")) continue;
    for (const auto& setting : planned.tier->settings) {
      const auto& names = claim.settings;
      if (!is_one_of(setting.name, names)) continue;
      if (setting.token_budgets.size() >= 2) continue;
      throw UserError({.what = "claim " + claim.id + " asks " +
                               (crosses ? "where two curves cross" : "how a gap grows") +
                               ", on one budget",
                       .where = planned.table->file + ", at /tiers/" + planned.tier->name +
                                "/settings/" + setting.name + "/token_budgets",
                       .found = std::to_string(setting.token_budgets.size()) + " token budgets",
                       .expected = "2 or more"});
    }
  }
}

/// A trial of a sweep is a loss and nothing else.
void check_probes(const PlannedTier& planned) {
  const auto& settings = planned.tier->settings;
  const bool sweeps_alone =
      !settings.empty() && std::all_of(settings.begin(), settings.end(),
                                       [](const Setting& s) { return s.token_budgets.empty(); });
  for (const auto& arm : planned.table->arms)
    if (sweeps_alone && !arm.probes.empty())
      throw UserError({.what = "a probe that no run is asked with",
                       .where = planned.table->file + ", at /arms/" + arm.name + "/probes",
                       .found = "tier " + planned.tier->name + ", which has sweeps alone",
                       .expected = "no probes, or a setting with token_budgets"});
}

}  // namespace

void check_planned(const Project& project, const PlannedTier& planned,
                   const std::vector<std::string>& datasets) {
  check_datasets(project, planned, datasets);
  check_schedules(planned);
  check_patterns(planned);
  check_rope(planned);
  check_probes(planned);
  check_ladders(planned, read_claims(claims_input(project, planned)));
}

}  // namespace normbench
