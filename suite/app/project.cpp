#include "suite/app/project.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "data/dataset.h"
#include "data/sidecar.h"
#include "suite/app/canaries.h"
#include "suite/app/plan_checks.h"
#include "suite/app/token_cost.h"
#include "suite/base/log.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

bool is_root(const fs::path& folder) { return fs::exists(folder / "suite/tables/sizes.json"); }

fs::path root_above(fs::path folder) {
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (is_root(folder)) return folder;
    if (folder == folder.root_path()) break;
  }
  return {};
}

/// The sidecar of a prepared data set. A damaged one is a warning and no error: planning must go on
/// without it, as the command that prepares the data set anew plans too.
std::optional<Sidecar> whole_sidecar(const Project& project, const std::string& name) {
  if (!fs::exists(dataset_folder(project.cache(), name) + "/dataset.json")) return std::nullopt;
  try {
    return read_sidecar(project.cache(), name);
  } catch (const UserError& e) {
    static std::set<std::string> said;  // it is asked for again for every table
    if (said.insert(name).second)
      log_warning("the data set " + name + " counts as not prepared: " + e.what());
    return std::nullopt;
  }
}

/// A prepared data set says who it is; before it is prepared the committed digests do
/// (suite/tables/data.json).
std::optional<DatasetIdentity> dataset_identity(const Project& project, const std::string& name) {
  if (const auto sidecar = whole_sidecar(project, name))
    return DatasetIdentity{sidecar->vocabulary, sidecar->train.digest, sidecar->validation.digest,
                           sidecar->train.tokens, sidecar->validation.tokens};
  for (const auto& spec : read_data_specs(project.tables() + "/data.json"))
    if (spec.name == name && spec.expected)
      return DatasetIdentity{spec.tokenizer.vocabulary, spec.expected->train_digest,
                             spec.expected->validation_digest, spec.expected->train_tokens,
                             spec.expected->validation_tokens};
  return std::nullopt;
}

/// [digest of the training tokens]: their unigram entropy, of the data sets that data.json measures
/// and of those that these runs use, where they are prepared.
std::map<std::string, double> unigram_entropies(const Project& project,
                                                const PlannedTier& planned) {
  std::map<std::string, double> entropies;
  for (const auto& spec : read_data_specs(project.tables() + "/data.json"))
    if (spec.expected) entropies[spec.expected->train_digest] = spec.expected->unigram_entropy_nats;
  std::set<std::string> used;
  for (const auto& run : planned.runs)
    if (!run.dataset.empty()) used.insert(run.dataset);
  for (const auto& name : used) {
    const auto sidecar = whole_sidecar(project, name);
    if (sidecar && sidecar->unigram_entropy_nats > 0)  // shards used where they lie are not counted
      entropies[sidecar->train.digest] = sidecar->unigram_entropy_nats;
  }
  return entropies;
}

/// What a paper printed; nothing where no file has numbers of it.
Json published_numbers(const std::string& file) {
  if (!fs::exists(file)) return Json::object();
  const Json json = read_json(file);
  const JsonObject o(json, file);
  if (o.required<std::string>("schema") != "normbench-published-1")
    o.fail("schema", "unknown schema", json["schema"].dump(), "\"normbench-published-1\"");
  return json;
}

std::string size_text(const Json& size) {
  const auto n = [&](const char* key) { return std::to_string(size.at(key).get<int64_t>()); };
  return n("num_layers") + " layers, width " + n("width") + ", " + n("num_heads") + " heads, MLP " +
         n("mlp_width") + ", context " + n("context") + ", vocabulary " + n("vocabulary");
}

}  // namespace

Project Project::locate(const std::string& given_root) {
  Project project;
  project.program = fs::read_symlink("/proc/self/exe").string();
  const char* variable = std::getenv("NORMBENCH_ROOT");
  if (variable != nullptr && *variable == '\0')
    throw UserError({.what = "an empty value names no checkout",
                     .where = "NORMBENCH_ROOT",
                     .found = "\"\"",
                     .expected = "a folder, or no such variable"});
  fs::path root;
  if (!given_root.empty() || variable != nullptr) {
    root = fs::absolute(given_root.empty() ? variable : given_root);
    if (!is_root(root))
      throw UserError({.what = "not a checkout of normbench",
                       .where = root.string(),
                       .expected = "a folder with suite/tables/sizes.json"});
  } else {
    root = root_above(fs::current_path());
    if (root.empty()) root = root_above(fs::path(project.program).parent_path());
  }
  if (root.empty())
    throw UserError({.what = "no checkout of normbench above the current folder",
                     .where = fs::current_path().string(),
                     .todo = "call it inside the checkout, or with --root FOLDER"});
  project.root = root.lexically_normal().string();
  return project;
}

std::string Project::worker() const {
  return (fs::path(program).parent_path() / "normbench-worker").string();
}
std::string Project::registry() const {
  return (fs::path(program).parent_path() / "registry.json").string();
}

std::vector<std::string> dataset_names(const Project& project) {
  std::vector<std::string> names;
  for (const auto& spec : read_data_specs(project.tables() + "/data.json"))
    names.push_back(spec.name);
  return names;
}

Plan::Plan(const Project& project, const std::string& only, const std::string& tier)
    : tables_(read_tables(project.tables(), only)) {
  const Json sizes = read_sizes(project.tables());
  const Registry registry(project.registry());
  std::map<std::string, std::optional<DatasetIdentity>> known;
  const DatasetLookup lookup = [&](const std::string& dataset) {
    const auto found = known.find(dataset);
    if (found != known.end()) return found->second;
    return known[dataset] = dataset_identity(project, dataset);
  };
  if (!tier.empty() && !is_one_of(tier, kTierNames))
    throw UserError({.what = "no such tier",
                     .found = "\"" + tier + "\"",
                     .expected = one_of(kTierNames),
                     .todo = did_you_mean(tier, kTierNames)});
  for (const auto& table : tables_)
    for (const auto& t : table.tiers)
      if (tier.empty() || t.name == tier)
        tiers_.push_back({&table, &t, expand(table, t, sizes, registry, lookup)});
  if (tiers_.empty())
    throw UserError({.what = "nothing is selected",
                     .found = "--only \"" + only + "\" --tier \"" + tier + "\"",
                     .todo = "normbench plan --list shows what there is"});
  const auto datasets = dataset_names(project);
  for (const auto& planned : tiers_) check_planned(project, planned, datasets);
}

const PlannedRun& Plan::run(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& planned : tiers_)
    for (const auto& run : planned.runs) {
      if (run.name == name || (!run.run_id.empty() && run.run_id == name)) return run;
      names.push_back(run.name);
    }
  throw UserError({.what = "no such run",
                   .found = "\"" + name + "\"",
                   .todo = did_you_mean(name, names, "normbench plan --list shows all")});
}

const PlannedTier& only_one(const Plan& plan) {
  if (plan.tiers().size() != 1)
    throw UserError({.what = "one table of one tier is wanted",
                     .found = std::to_string(plan.tiers().size()) + " are selected",
                     .todo = "say --tier TIER --only PAPER.TABLE"});
  return plan.tiers().front();
}

JudgeInput claims_input(const Project& project, const PlannedTier& planned) {
  const Table& table = *planned.table;
  JudgeInput input;
  input.paper = table.paper;
  input.table = table.name;
  input.tier = planned.tier->name;
  input.title = table.title;
  input.yardstick = table.yardstick;
  input.table_file = fs::path(table.file).lexically_relative(project.root).string();
  input.source = table.source;
  input.claims = table.claims;
  input.peak_lr_source = planned.tier->peak_lr_source;
  input.untuned_arms = planned.tier->untuned_arms;
  input.deviations = table.deviations;
  input.not_tested = table.not_tested;
  input.published = published_numbers(project.baselines() + "/published/" + table.paper + ".json");
  for (const auto& arm : table.arms)
    input.arms.push_back({arm.name, arm.label, arm.note, arm.warning});
  for (const auto& m : planned.tier->measurements) {
    const Measurement& measurement = table.measurement(m.name);
    input.measurements.push_back({measurement.name, measurement.label, measurement.note});
  }
  for (const auto& setting : planned.tier->settings) {
    input.datasets.push_back(setting.name);
    for (const auto& [arm, rates] : setting.peak_lr)
      for (const auto& [budget, rate] : rates)
        input.peak_lr[arm][setting.name].push_back({budget, rate});
  }
  return input;
}

JudgeInput table_input(const Project& project, const PlannedTier& planned) {
  JudgeInput input = claims_input(project, planned);
  for (const auto& run : planned.runs) {
    (run.sweep ? input.sweep_runs : input.runs)
        .push_back({run.run_id, run.name, run.arm, run.setting, run.token_budget, run.seed,
                    run.peak_lr, run.dataset, run.task, canary_id(run)});
    if (!run.task.empty()) continue;
    if (input.size.empty()) input.size = size_text(run.config.at("size"));
    input.token_cost[run.arm][run.setting] = token_cost(run.config);
  }
  input.unigram_entropy_nats = unigram_entropies(project, planned);
  return input;
}

JudgeInput judge_input(const Project& project, const PlannedTier& planned) {
  JudgeInput input = table_input(project, planned);
  input.canaries = known_canaries(project, planned);
  return input;
}

bool has_record(const PlannedRun& run, const std::string& runs_folder) {
  return !run.run_id.empty() && fs::exists(runs_folder + "/" + run.run_id + "/summary.json");
}

std::vector<std::string> published_records(const Project& project, const PlannedRun& run) {
  std::vector<std::string> records;
  std::error_code absent;
  for (const auto& report : fs::directory_iterator(project.published(), absent))
    if (has_record(run, report.path() / "runs"))
      records.push_back(report.path() / "runs" / run.run_id);
  std::sort(records.begin(), records.end());
  return records;
}

std::vector<std::string> adoptable_records(const Project& project, const PlannedRun& run) {
  if (fs::exists(project.runs() + "/" + run.run_id + "/manifest.json")) return {};
  return published_records(project, run);
}

bool any_record(const PlannedTier& planned, const std::string& runs_folder) {
  return std::any_of(planned.runs.begin(), planned.runs.end(),
                     [&](const PlannedRun& run) { return has_record(run, runs_folder); });
}

}  // namespace normbench
