#include "suite/app/check_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "suite/app/canaries.h"
#include "suite/app/doctor_command.h"
#include "suite/app/required.h"
#include "suite/judge/gate.h"
#include "suite/judge/ledger.h"

namespace normbench {
namespace {

/// Several tables of one tier share the false-alarm rate.
size_t family_of_tier(const Project& project, const std::string& tier) {
  const Plan plan(project, "", tier);
  size_t family = 0;
  for (const auto& planned : plan.tiers())
    family += regression_family(table_input(project, planned));
  return family;
}

int exit_code(const CheckResult& result, const PlannedTier& planned) {
  std::cout << result.text << "\n";
  if (planned.tier->device == "cuda" && !gpu_present())
    std::cout << "  (Without a GPU nobody can say here whether the records are of this build.)\n";
  if (result.color == CheckResult::Color::kNotRun) return kExitSkipped;
  return result.green() ? kExitOk : kExitCheckRed;
}

/// The smoke tier runs everywhere, so that its baseline is part of every checkout and its absence
/// is red. The other tiers are measured by whoever has the hours.
std::string no_baseline_text(const Project& project, const JudgeInput& input) {
  if (input.tier == "smoke" || is_required("baseline")) return "";
  if (std::filesystem::exists(baseline_path(input, project.baselines()))) return "";
  std::string text =
      "there is no baseline of " + input.paper + "." + input.table + " at tier " + input.tier +
      " to compare with.\n  Make it from records on this machine:  " + bless_command(input);
  const std::string published = project.published(input.paper, input.table, input.tier);
  if (std::filesystem::exists(published))
    text += "\n  or from the published ones:  " + bless_command(input) + " --runs " + published +
            "/runs";
  return text;
}

/// Why a regression check has nothing to compare; empty when it has.
std::string nothing_to_compare(const Project& project, const PlannedTier& planned,
                               const std::string& runs_folder) {
  if (planned.tier->device == "cuda" && !gpu_present() && !any_record(planned, runs_folder)) {
    if (is_required("gpu"))
      throw MachineError({.what = "a GPU is required and there is none",
                          .where = "NORMBENCH_REQUIRE",
                          .todo = "check the driver (nvidia-smi)"});
    return "there is neither a GPU nor a record of tier " + planned.tier->name + " here";
  }
  return no_baseline_text(project, table_input(project, planned));
}

}  // namespace

int check_command(const Project& project, const PlannedTier& planned, const JudgeCommand& request) {
  const std::string runs = request.runs_folder.empty() ? project.runs() : request.runs_folder;
  const std::string& arm = request.regression_arm;
  if (!arm.empty())
    if (const auto why = nothing_to_compare(project, planned, runs); !why.empty()) {
      std::cout << "skipped: " << why << "\n";
      return kExitSkipped;
    }
  // A loss hangs on its own arm's records, a verdict on those of others too.
  const bool of_one_arm = !arm.empty() && request.metric == "validation_loss";
  run_missing_canaries(project, planned, [&](const PlannedRun& run) {
    return (!of_one_arm || run.arm == arm) && has_record(run, runs);
  });
  const JudgeInput input = judge_input(project, planned);
  if (arm.empty()) return exit_code(check_claim(input, runs, request.claim), planned);
  return exit_code(check_regression(input, runs, baseline_path(input, project.baselines()), arm,
                                    request.metric, family_of_tier(project, input.tier)),
                   planned);
}

}  // namespace normbench
