#include "suite/plan/expand.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace normbench {
namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

PlannedRun measurement_run(const Table& table, const Tier& tier, const PlannedMeasurement& planned,
                           int64_t seed, const Registry& registry) {
  const Measurement& measurement = table.measurement(planned.name);
  PlannedRun run;
  run.paper = table.paper;
  run.table = table.name;
  run.tier = tier.name;
  run.arm = measurement.name;
  run.device = tier.device;
  run.task = measurement.task;
  run.seed = seed;
  Json options = measurement.options;
  options.update(planned.options);
  run.config = {{"task", measurement.task},
                {"options", registry.resolve("tasks", measurement.task, options,
                                             table.file + ", at /measurements/" + measurement.name +
                                                 "/options")},
                {"device", tier.device},
                {"threads", tier.threads},
                {"seed", seed}};
  run.canary = run.config;
  run.canary["options"].update(registry.canary_options(measurement.task));
  run.canary["seed"] = 0;
  run.run_id = run_id_of(run.config);
  run.name = "run." + table.paper + "." + table.name + "." + tier.name + "." + measurement.name +
             ".s" + std::to_string(seed);
  return run;
}

void check_shared_heads(const Json& config, const std::string& where) {
  const auto kv_heads = config.at("model_options").value("num_kv_heads", int64_t{0});
  const int64_t heads = config.at("size").at("num_heads");
  if (kv_heads < 0 || (kv_heads > 0 && heads % kv_heads != 0))
    throw UserError({.what = "heads of keys and values cannot be shared evenly",
                     .where = where + "/model_options/num_kv_heads",
                     .found = std::to_string(kv_heads) + " for " + std::to_string(heads) + " heads",
                     .expected = "a divisor of the number of heads, or 0 for as many"});
}

void check_experts(const Json& options, const std::string& where) {
  if (!options.contains("num_experts") ||
      options.at("pattern").get<std::string>().find('E') == std::string::npos)
    return;
  const int64_t top_k = options.at("top_k"), num_experts = options.at("num_experts");
  if (top_k > num_experts)
    throw UserError({.what = "a token cannot go to more experts than there are",
                     .where = where + "/model_options/top_k",
                     .found = std::to_string(top_k) + " of " + std::to_string(num_experts)});
}

/// Both splits end with a target that is no input: one token more than the windows hold. And a loss
/// at which a run is given up lies above that of guessing, where it begins.
void check_setting(const DatasetIdentity& text, const Setting& setting, int64_t context,
                   const std::string& where) {
  if (text.train_tokens < context + 1)
    throw UserError({.what = "the training split is shorter than one window",
                     .where = where + "/dataset",
                     .found = std::to_string(text.train_tokens) + " tokens",
                     .expected = "at least " + std::to_string(context + 1),
                     .todo = "prepare more text or choose a size with a shorter context"});
  if (text.validation_tokens < setting.validation_tokens + 1)
    throw UserError(
        {.what = "the validation split is shorter than the slice",
         .where = where + "/validation_tokens",
         .found = std::to_string(setting.validation_tokens) + " of " +
                  std::to_string(text.validation_tokens) + " tokens",
         .expected = "at most " + std::to_string((text.validation_tokens - 1) / context * context),
         .todo = "choose fewer or prepare more text"});
  const double guessing = std::log(static_cast<double>(text.vocabulary));
  if (!(setting.divergence_loss_above > guessing))
    throw UserError({.what = "every run would count as diverged at its first step",
                     .where = where + "/divergence_loss_above",
                     .found = Json(setting.divergence_loss_above).dump(),
                     .expected = "above ln(vocabulary) = " + Json(guessing).dump() +
                                 " nats, the loss of guessing"});
}

int64_t head_width_of(const Json& size) {
  const auto given = size.value("head_width", int64_t{0});
  return given != 0 ? given : size.at("width").get<int64_t>() / size.at("num_heads").get<int64_t>();
}

constexpr int64_t kCanarySteps = 20;

/// Length of the shortest beginning of a pattern of layers that holds every kind of layer.
int64_t layers_with_every_kind(const std::string& pattern) {
  const std::set<char> kinds(pattern.begin(), pattern.end());
  std::set<char> seen;
  int64_t layers = 0;
  while (seen.size() < kinds.size()) seen.insert(pattern[static_cast<size_t>(layers++)]);
  return layers;
}

/// Options are an arm's own and made for its size. Where one counts parts of the model, the micro
/// model gets a number that it can have and that still runs all of the arm's code.
void fit_model(Json& canary, const Json& real_size) {
  Json &options = canary["model_options"], &size = canary["size"];
  if (options.contains("pattern"))  // every kind of layer
    size["num_layers"] = std::max(size["num_layers"].get<int64_t>(),
                                  layers_with_every_kind(options["pattern"].get<std::string>()));
  const bool mixers = !options.contains("pattern") ||
                      options["pattern"].get<std::string>().find('M') != std::string::npos;
  // Two chunks, so that what passes from one to the next is run too. Without a Mamba-2 layer the
  // option is refused.
  if (options.contains("chunk") && mixers)
    options["chunk"] =
        std::min(options["chunk"].get<int64_t>(), size["context"].get<int64_t>() / 2);
  if (options.contains("rope_fraction")) {  // of a smaller head: the nearest number of pairs
    const double head = static_cast<double>(head_width_of(size));
    const double pairs = options["rope_fraction"].get<double>() * head / 2;
    if (const double whole = std::max(1.0, std::round(pairs)); std::abs(pairs - whole) >= 1e-9)
      options["rope_fraction"] = 2 * whole / head;
  }
  const int64_t heads = size["num_heads"], kv_heads = options.value("num_kv_heads", int64_t{0});
  if (kv_heads > 0 && heads % kv_heads != 0)  // as many queries to a key as the arm has, or all
    options["num_kv_heads"] =
        std::max<int64_t>(1, heads * kv_heads / real_size["num_heads"].get<int64_t>());
}

int64_t canary_steps_of(double fraction) {
  return std::llround(fraction * static_cast<double>(kCanarySteps));
}

/// A warm-up that the canary is too short for becomes half of it, or what the decay at its end
/// leaves. One that fits stays: records hang on the canaries of their arms.
void fit_schedule(Json& options) {
  const int64_t decay = canary_steps_of(options.value("decay_fraction", 0.0));
  const int64_t room = std::max<int64_t>(0, kCanarySteps - decay);
  const auto warmup = options.value("warmup_steps", int64_t{0});
  if (warmup >= kCanarySteps)
    options["warmup_steps"] = std::min(kCanarySteps / 2, room);
  else if (warmup > room)
    options["warmup_steps"] = room;
  const int64_t longest = std::min(room, kCanarySteps - 1);  // a step at the peak, whatever rounds
  if (canary_steps_of(options.value("warmup_fraction", 0.0)) > longest)
    options["warmup_fraction"] = static_cast<double>(longest) / static_cast<double>(kCanarySteps);
}

}  // namespace

Json canary_config(const Json& config, const Json& micro_size) {
  Json canary = config;
  const int64_t context = micro_size.at("context").get<int64_t>();
  canary["size"] = micro_size;
  canary["size"]["vocabulary"] = 97;
  canary["peak_lr"] = 0.01;
  canary["batch_sequences"] = 4;
  canary["micro_batch_sequences"] = 2;
  canary["token_budget"] = kCanarySteps * 4 * context;
  canary["dataset"] = "canary";
  canary["train_digest"] = "";
  canary["validation_digest"] = "";
  canary["validation_tokens"] = 4 * context;
  canary["divergence"] = {{"loss_above", 100.0}};
  canary["seed"] = 0;
  canary.erase("probes");
  fit_model(canary, config.at("size"));
  fit_schedule(canary["schedule_options"]);
  return canary;
}

std::vector<PlannedRun> expand(const Table& table, const Tier& tier, const Json& sizes,
                               const Registry& registry, const DatasetLookup& lookup) {
  std::vector<PlannedRun> runs;
  const auto add = [&](const Setting& setting, const Arm& arm, int64_t budget, int64_t seed,
                       double peak_lr, bool sweep) {
    const auto identity = lookup(setting.dataset);
    const std::string where = table.file + ", at /arms/" + arm.name;
    const auto own_batch = setting.arm_batch_sequences.find(arm.name);
    const int64_t batch = own_batch == setting.arm_batch_sequences.end() ? setting.batch_sequences
                                                                         : own_batch->second;
    Json size = sizes.at(setting.size);
    size["head_width"] = head_width_of(size);
    size["vocabulary"] = identity ? identity->vocabulary : 0;
    if (identity)
      check_setting(*identity, setting, size.at("context"),
                    table.file + ", at /tiers/" + tier.name + "/settings/" + setting.name);
    PlannedRun run{.name = {},
                   .run_id = {},
                   .paper = table.paper,
                   .table = table.name,
                   .tier = tier.name,
                   .setting = setting.name,
                   .arm = arm.name,
                   .dataset = setting.dataset,
                   .device = tier.device,
                   .task = {},
                   .token_budget = budget,
                   .seed = seed,
                   .peak_lr = peak_lr,
                   .sweep = sweep,
                   .config = Json::object(),
                   .canary = Json::object()};
    run.config = {
        {"model", arm.model},
        {"model_options",
         registry.resolve("models", arm.model, arm.model_options, where + "/model_options")},
        {"size", size},
        {"optimizer", arm.optimizer},
        {"optimizer_options", registry.resolve("optimizers", arm.optimizer, arm.optimizer_options,
                                               where + "/optimizer_options")},
        {"schedule", arm.schedule},
        {"schedule_options", registry.resolve("schedules", arm.schedule, arm.schedule_options,
                                              where + "/schedule_options")},
        {"peak_lr", peak_lr},
        {"clip_norm", setting.clip_norm},
        {"token_budget", budget},
        {"batch_sequences", batch},
        {"micro_batch_sequences", std::min(batch, setting.micro_batch_sequences)},
        {"dataset", setting.dataset},
        {"train_digest", identity ? identity->train_digest : ""},
        {"validation_digest", identity ? identity->validation_digest : ""},
        {"validation_tokens", setting.validation_tokens},
        {"divergence", {{"loss_above", setting.divergence_loss_above}}},
        {"precision", tier.precision},
        {"device", tier.device},
        {"threads", tier.threads},
        {"seed", seed},
    };
    check_shared_heads(run.config, where);
    check_experts(run.config.at("model_options"), where);
    registry.check_probes(arm.probes, where + "/probes");
    if (!arm.probes.empty() && !sweep) run.config["probes"] = arm.probes;  // a trial is a loss
    if (identity) run.run_id = run_id_of(run.config);
    run.canary = canary_config(run.config, sizes.at("micro"));
    run.name = "run." + table.paper + "." + table.name + "." + tier.name +
               (sweep ? ".sweep." : ".") + setting.name + "." + arm.name + "." +
               std::to_string(budget) + (sweep ? ".lr" + short_number(peak_lr) : "") + ".s" +
               std::to_string(seed);
    runs.push_back(std::move(run));
  };

  // Arms take turns, so that what happens to the machine meanwhile happens to all of them, and a
  // tier that is only half done already has whole pairs.
  for (const auto& setting : tier.settings)
    for (const int64_t seed : setting.seeds)
      for (const int64_t budget : setting.token_budgets)
        for (const auto& arm : table.arms)
          if (setting.peak_lr.contains(arm.name))  // else it is not part of this setting
            add(setting, arm, budget, seed, peak_lr_at(setting, arm.name, budget, table.file),
                false);
  for (const auto& setting : tier.settings)
    for (const auto& [arm, budgets] : setting.sweep.grid)
      for (const auto& [budget, rates] : budgets)
        for (const double rate : rates)
          for (const int64_t seed : setting.sweep.seeds)
            add(setting, table.arm(arm), budget, seed, rate, true);
  for (const auto& planned : tier.measurements)
    for (const int64_t seed : planned.seeds)
      runs.push_back(measurement_run(table, tier, planned, seed, registry));
  return runs;
}

}  // namespace normbench
