#include "suite/app/check_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "suite/app/canaries.h"
#include "suite/app/doctor_command.h"
#include "suite/app/required.h"
#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/judge/gate.h"
#include "suite/judge/ledger.h"

namespace normbench {
namespace {

/// Several tables of one tier share the false-alarm rate. One that cannot be read has no checks to
/// share it with until it is mended, and must not take the gate of the others with it: it is named.
size_t family_of_tier(const Project& project, const std::string& tier) {
  size_t family = 0;
  for (const auto& file : table_files(project.tables())) {
    try {
      const Json table = read_json(file.path);
      if (!table.contains("tiers") || !table["tiers"].contains(tier)) continue;
      const Plan plan(project, file.name, tier);
      family += regression_family(table_input(project, plan.tiers().front()));
    } catch (const UserError& e) {
      log_warning(file.name + " is not counted among the checks of tier " + tier + ": " + e.what());
    }
  }
  return family;
}

/// A mistyped name must not look like a check that has nothing to compare.
void check_names(const JudgeInput& input, const std::string& arm, const std::string& metric) {
  std::vector<std::string> known;
  for (const auto& a : input.arms) known.push_back(a.name);
  for (const auto& m : input.measurements) known.push_back(m.name);
  if (!is_one_of(arm, known))
    throw UserError({.what = "no such arm or measurement",
                     .where = input.table_file + ", tier " + input.tier,
                     .found = "\"" + arm + "\"",
                     .expected = one_of(known),
                     .todo = did_you_mean(arm, known)});
  const auto metrics = regression_metrics(input, arm);
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
    throw UserError({.what = arm + " has no regression check of this metric",
                     .where = input.table_file + ", tier " + input.tier,
                     .found = "\"" + metric + "\"",
                     .expected = metrics.empty() ? "no check of it" : join(metrics, " or ")});
}

int exit_code(const Project& project, const CheckResult& result, const PlannedTier& planned) {
  if (result.color == CheckResult::Color::kNotRun) refuse_to_skip(project, planned);
  std::cout << result.text << "\n";
  if (!why_no_device(project, planned.tier->device).empty())
    std::cout << "  (Without a GPU nobody can say here whether the records are of this build.)\n";
  if (result.color == CheckResult::Color::kNotRun) return kExitSkipped;
  return result.green() ? kExitOk : kExitCheckRed;
}

/// The smoke tier runs everywhere, so that its baseline is part of every checkout and its absence
/// is red. The other tiers are measured by whoever has the hours.
std::string no_baseline_text(const Project& project, const PlannedTier& planned) {
  const JudgeInput input = table_input(project, planned);
  if (input.tier == "smoke" || is_required("baseline")) return "";
  if (std::filesystem::exists(baseline_path(input, project.baselines()))) return "";
  std::string text =
      "there is no baseline of " + input.paper + "." + input.table + " at tier " + input.tier +
      " to compare with.\n  Make it from records on this machine:  " + bless_command(input);
  const std::string published = project.published(input.paper, input.table, input.tier) + "/runs";
  // Published records may be a part of what a baseline needs.
  if (std::all_of(planned.runs.begin(), planned.runs.end(),
                  [&](const PlannedRun& run) { return has_record(run, published); }))
    text += "\n  or from the published ones:  " + bless_command(input) + " --runs " + published;
  return text;
}

/// Why a regression check has nothing to compare; empty when it has.
std::string nothing_to_compare(const Project& project, const PlannedTier& planned,
                               const std::string& runs_folder) {
  if (const std::string why = why_no_device(project, planned.tier->device);
      !why.empty() && !any_record(planned, runs_folder))
    return why + ", and there is no record of tier " + planned.tier->name + " here";
  return no_baseline_text(project, planned);
}

}  // namespace

void refuse_to_skip(const Project& project, const PlannedTier& planned) {
  if (const std::string why = why_no_device(project, planned.tier->device);
      is_required("gpu") && !why.empty())
    throw MachineError({.what = "a GPU is required: " + why,
                        .where = "NORMBENCH_REQUIRE",
                        .todo = "check the driver (nvidia-smi)"});
  if (!is_required("data")) return;
  for (const auto& run : planned.runs)
    if (run.run_id.empty())
      throw MachineError(
          {.what = "a data set is required and not prepared",
           .where = "NORMBENCH_REQUIRE",
           .found = "no " + run.dataset,
           .todo = "`normbench data prepare --help` says how to bring your own tokens"});
}

int check_command(const Project& project, const PlannedTier& planned, const JudgeCommand& request) {
  const std::string runs = request.runs_folder.empty() ? project.runs() : request.runs_folder;
  const std::string& arm = request.regression_arm;
  if (!arm.empty()) {
    check_names(claims_input(project, planned), arm, request.metric);
    if (const auto why = nothing_to_compare(project, planned, runs); !why.empty()) {
      refuse_to_skip(project, planned);
      std::cout << "skipped: " << why << "\n";
      return kExitSkipped;
    }
  }
  // A loss hangs on its own arm's records, a verdict on those of others too.
  const bool of_one_arm = !arm.empty() && request.metric == "validation_loss";
  run_missing_canaries(project, planned, [&](const PlannedRun& run) {
    return (!of_one_arm || run.arm == arm) && has_record(run, runs);
  });
  const JudgeInput input = judge_input(project, planned);
  if (arm.empty()) return exit_code(project, check_claim(input, runs, request.claim), planned);
  return exit_code(project,
                   check_regression(input, runs, baseline_path(input, project.baselines()), arm,
                                    request.metric, family_of_tier(project, input.tier)),
                   planned);
}

}  // namespace normbench
