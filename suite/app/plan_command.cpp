#include "suite/app/plan_command.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "suite/app/own_data.h"
#include "suite/app/run_command.h"
#include "suite/base/files.h"
#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/judge/statistics.h"

namespace normbench {
namespace {

std::string state_of(const Project& project, const PlannedRun& run, const Estimate& estimate) {
  if (run.run_id.empty()) return "no data";
  if (estimate.finished(run.run_id)) return "finished";
  if (!adoptable_records(project, run).empty()) return "published";
  return estimate.begun(run.run_id) ? "begun" : "pending";
}

void print_list(const Project& project, const PlannedTier& planned, const Estimate& estimate) {
  for (const auto& run : planned.runs)
    fmt::print("  {:16} {:9} {}\n", run.run_id.empty() ? "-" : run.run_id,
               state_of(project, run, estimate), run.name);
}

/// The smallest speed-up that a paired comparison with this many seeds can tell from none.
void print_power(const PlannedTier& planned) {
  for (const auto& setting : planned.tier->settings) {
    const Json& noise = setting.noise.is_null() ? planned.tier->noise : setting.noise;
    if (noise.is_null() || setting.seeds.size() < 2) continue;
    const double sd = noise.at("loss_sd"), slope = noise.at("slope_nats_per_doubling");
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

std::string one_of_device(const std::string& device) {
  return device == "cuda" ? "one GPU" : "one core";
}

void print_left(const std::map<std::string, double>& seconds) {
  std::string text;
  for (const auto& [device, left] : seconds)
    text += (text.empty() ? "" : " and ") + duration_text(left) + " on " + one_of_device(device);
  fmt::print("{}\n", text.empty() ? "nothing left to train" : "together " + text + " left");
}

/// Every model and optimiser that the plan asks for, once: what only they know of their options
/// together. Exit code of the worker, which has said what is wrong.
int check_arms(const Project& project, const Plan& plan, const std::string& file) {
  std::set<std::string> seen;
  Json arms = Json::array();
  for (const auto& planned : plan.tiers())
    for (const auto& run : planned.runs) {
      if (!run.task.empty()) continue;
      const Json& config = run.config;
      const Json built = {config.at("model"), config.at("model_options"), config.at("size"),
                          config.at("optimizer"), config.at("optimizer_options")};
      if (!seen.insert(canonical(built)).second) continue;
      arms.push_back({{"arm", planned.table->file + ", at /arms/" + run.arm},
                      {"config", config},
                      {"canary", run.canary}});
    }
  write_json(file, arms);
  const int code = run_worker(project, {"arms", file});
  std::filesystem::remove(file);
  return code;
}

/// One command fetches what data.json has; the others are for a person to bring.
void print_waited_for(const Project& project, const std::set<std::string>& datasets) {
  const auto fetched = dataset_names(project);
  std::string fetch, bring;
  for (const auto& name : datasets) {
    std::string& names = is_one_of(name, fetched) ? fetch : bring;
    names += " " + name;
  }
  if (!fetch.empty()) fmt::print("to fetch: normbench data prepare{}\n", fetch);
  if (!bring.empty()) fmt::print("yours to bring:{}. To do: {}\n", bring, how_to_bring());
}

}  // namespace

int plan_command(const Project& project, const PlanCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const Estimate estimate(project.runs());
  if (!request.ctest_file.empty()) {
    if (const int code = check_arms(project, plan, request.ctest_file + ".arms"); code != kExitOk)
      return code;
    write_file_atomically(request.ctest_file,
                          ctest_script(plan.tiers(), estimate, project.program, project.root));
    return kExitOk;
  }
  std::map<std::string, double> all_left;  // [device]: an hour of a GPU is no hour of a core
  std::set<std::string> counted;           // a run that several tables share is done once
  std::set<std::string> waited_for;
  for (const auto& planned : plan.tiers()) {
    int done = 0, published = 0, begun = 0, measured_runs = 0, guessed = 0;
    std::map<std::string, size_t> waiting;  // [data set]
    double left = 0;
    for (const auto& run : planned.runs) {
      const std::string state = state_of(project, run, estimate);
      if (state == "no data") ++waiting[run.dataset];
      published += state == "published";
      begun += state == "begun";
      if (state == "finished" || state == "published") {
        ++done;
      } else if (counted.insert(run.run_id.empty() ? run.name : run.run_id).second) {
        bool measured = false;
        left += estimate.seconds_left(run, &measured);
        measured_runs += measured;
        guessed += !measured && !run.task.empty();
      }
    }
    const std::string& device = planned.tier->device;
    if (left > 0) all_left[device] += left;
    fmt::print("{}.{} {}: {} runs, {} finished", planned.table->paper, planned.table->name,
               planned.tier->name, planned.runs.size(), done);
    if (published > 0) fmt::print(", {} of them published", published);
    if (begun > 0) fmt::print(", {} begun", begun);
    if (left > 0)
      fmt::print(", {} left on {} ({})", duration_text(left), one_of_device(device),
                 measured_runs > 0 ? "from finished runs in results/runs"
                 : guessed > 0     ? "a guess: nobody has timed these measurements here"
                                   : "rough, from FLOPs");
    fmt::print("\n");
    for (const auto& [dataset, runs] : waiting) {
      fmt::print("    {} wait{} for the data set {}, which is not prepared\n",
                 count_text(runs, "run"), runs == 1 ? "s" : "", dataset);
      waited_for.insert(dataset);
    }
    print_power(planned);
    if (request.list) print_list(project, planned, estimate);
  }
  print_left(all_left);
  print_waited_for(project, waited_for);
  return kExitOk;
}

}  // namespace normbench
