#include "suite/app/plan_command.h"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <set>

#include "suite/base/files.h"
#include "suite/base/log.h"
#include "suite/judge/statistics.h"

namespace normbench {
namespace {

std::string state_of(const Project& project, const PlannedRun& run, const Estimate& estimate) {
  if (run.run_id.empty()) return "no data";
  if (estimate.finished(run.run_id)) return "finished";
  return adoptable_records(project, run).empty() ? "pending" : "published";
}

void print_list(const Project& project, const PlannedTier& planned, const Estimate& estimate) {
  for (const auto& run : planned.runs)
    fmt::print("  {:16} {:9} {}\n", run.run_id.empty() ? "-" : run.run_id,
               state_of(project, run, estimate), run.name);
}

/// The smallest speed-up that a paired comparison with this many seeds can tell from none.
void print_power(const PlannedTier& planned) {
  const Json& noise = planned.tier->noise;
  if (!noise.is_object()) return;
  const double sd = noise.at("loss_sd"), slope = noise.at("slope_nats_per_doubling");
  for (const auto& setting : planned.tier->settings) {
    const auto n = static_cast<int>(setting.seeds.size());
    const double sd_log_ratio = std::sqrt(2.0) * sd / (slope / std::log(2.0));
    const double effect = std::exp(minimum_detectable_effect(sd_log_ratio, n, /*alpha=*/0.05)) - 1;
    fmt::print(
        "    {}: {} seeds tell a speed-up of {:.0f} % from none (80 % power; noise {:.4f} nats, "
        "{:.2f} nats per "
        "doubling: {})\n",
        setting.name, n, 100 * effect, sd, slope, noise.at("source").get<std::string>());
  }
}

}  // namespace

int plan_command(const Project& project, const PlanCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const Estimate estimate(project.runs());
  if (!request.ctest_file.empty()) {
    write_file_atomically(request.ctest_file,
                          ctest_script(plan.tiers(), estimate, project.program, project.root));
    return kExitOk;
  }
  double all_left = 0;
  std::set<std::string> counted;  // a run that several tables share is done once
  for (const auto& planned : plan.tiers()) {
    int done = 0, published = 0, without_data = 0, measured_runs = 0;
    double left = 0;
    for (const auto& run : planned.runs) {
      const std::string state = state_of(project, run, estimate);
      without_data += state == "no data";
      published += state == "published";
      if (state == "finished" || state == "published") {
        ++done;
      } else if (counted.insert(run.run_id.empty() ? run.name : run.run_id).second) {
        bool measured = false;
        left += estimate.seconds(run, &measured);
        measured_runs += measured;
      }
    }
    all_left += left;
    fmt::print("{}.{} {}: {} runs, {} finished", planned.table->paper, planned.table->name,
               planned.tier->name, planned.runs.size(), done);
    if (published > 0) fmt::print(", {} of them published", published);
    if (left > 0)
      fmt::print(", {} left on one {} ({})", duration_text(left),
                 planned.tier->device == "cuda" ? "GPU" : "core",
                 measured_runs > 0 ? "from finished runs on this machine" : "rough, from FLOPs");
    fmt::print("\n");
    if (without_data > 0)
      fmt::print("    {} runs wait for a data set that is not prepared\n", without_data);
    print_power(planned);
    if (request.list) print_list(project, planned, estimate);
  }
  fmt::print("{}\n", all_left > 0 ? "together " + duration_text(all_left) + " left"
                                  : "nothing left to train");
  return kExitOk;
}

}  // namespace normbench
