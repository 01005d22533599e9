#include "suite/judge/testing/synthetic.h"

#include <unistd.h>

#include <cmath>

#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"
#include "suite/judge/sweep.h"

namespace normbench::testing {
namespace {

// A normal value that depends on the words alone: the mean of 12 uniforms, shifted and scaled.
double noise(const std::string& words) {
  double sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(xxh3_64(words + "/" + std::to_string(i)) >> 11) / 9007199254740992.0;
  return sum - 6;
}

Json manifest_of(const RunRef& run, const SyntheticOptions& options) {
  return {{"schema", "normbench-run-1"},
          {"run_id", run.run_id},
          {"name", run.name},
          {"config", synthetic_config(run)},
          {"data",
           {{"train_digest", "t"}, {"validation_digest", "v"}, {"validation_slice_digest", "s"}}},
          {"numeric_class", options.numeric_class},
          {"perf_class", "one core of a test"},
          {"fingerprint", {{"cpu", "invented"}}},
          {"build", {{"version", "0"}}},
          {"numeric_digest", "digest of " + run.arm},
          {"parameters", 327680}};
}

void write_sealed(const std::string& runs_folder, const RunRef& run, Json manifest,
                  std::vector<std::string> lines, Json summary, const RecordEdit& edit) {
  if (edit.manifest) edit.manifest(manifest);
  if (edit.lines) edit.lines(lines);
  if (edit.summary) edit.summary(summary);
  const std::string folder = runs_folder + "/" + run.run_id;
  std::filesystem::remove_all(folder);
  make_folders(folder);
  RecordWriter writer(folder + "/steps.jsonl.zst", 0);
  for (const auto& line : lines) writer.append(Json::parse(line));
  writer.flush();
  write_json(folder + "/manifest.json", manifest);
  write_json(folder + "/summary.json", sealed_summary(manifest, lines, summary));
}

}  // namespace

RunRef planned(RunRef run, const std::string& name) {
  run.run_id = run_id_of(synthetic_config(run));
  run.name = name + "." + run.arm + "." + run.dataset + "." + std::to_string(run.token_budget) +
             ".s" + std::to_string(run.seed);
  run.canary = run.arm;
  return run;
}

RunRef measurement_run(const std::string& name, int64_t seed) {
  RunRef run;
  run.task = "invented";
  run.arm = name;
  run.seed = seed;
  run.run_id = run_id_of(synthetic_config(run));
  run.name = "run.angpt.convergence.cpu." + name + ".s" + std::to_string(seed);
  return run;
}

Json synthetic_config(const RunRef& run) {
  if (!run.task.empty())
    return Json{{"task", run.task},
                {"options", {{"of", run.arm}}},
                {"seed", run.seed},
                {"device", "cpu"},
                {"threads", 1}};
  return Json{{"model", run.arm},
              {"model_options", Json::object()},
              {"dataset", run.dataset},
              {"token_budget", run.token_budget},
              {"seed", run.seed},
              {"peak_lr", run.peak_lr},
              {"train_digest", "train of " + run.dataset},
              {"device", "cpu"},
              {"threads", 1}};
}

double synthetic_loss(const SyntheticOptions& options, const RunRef& run) {
  const double tokens = static_cast<double>(run.token_budget) * options.token_ratio.at(run.arm);
  const double off = std::log2(run.peak_lr / options.best_lr);
  const double loss =
      1.7 + 690 * std::pow(tokens, -.42) + .09 * off * off +
      options.seed_sd * noise(run.arm + run.dataset + std::to_string(run.token_budget) + "s" +
                              std::to_string(run.seed));
  return options.truth ? options.truth(run, loss) : loss;
}

JudgeInput synthetic_input(const SyntheticOptions& options) {
  JudgeInput input;
  input.paper = "angpt";
  input.table = "convergence";
  input.tier = "cpu";
  input.title = "validation loss at equal token budgets (invented records)";
  input.table_file = "suite/tables/angpt/convergence.json";
  input.source = {{"paper", "arXiv 2505.22014 v2"}, {"where", "Figure 3"}, {"values", "digitized"}};
  input.size = "4 layers, width 64, 327,680 parameters";
  input.datasets = options.datasets;
  const std::map<std::string, std::string> labels = {{"gpt_plus", "GPT+"},
                                                     {"angpt", "anGPT"},
                                                     {"ngpt", "nGPT"},
                                                     {"gpt_plus_literal_init", "GPT+, init .02"}};
  for (const auto& name : {"gpt_plus", "gpt_plus_literal_init", "ngpt", "angpt"})
    if (options.token_ratio.contains(name))
      input.arms.push_back(
          {name, labels.at(name), "",
           std::string(name) == "gpt_plus_literal_init"
               ? "its init does not scale with the width, which inflates every lead over it"
               : ""});
  for (const auto& arm : input.arms)
    for (const auto& dataset : options.datasets) {
      for (const int64_t budget : {options.budgets.front(), options.budgets.back()})
        for (const double lr : options.grid)
          input.sweep_runs.push_back(
              planned({"", "", arm.name, dataset, budget, 101, lr},
                      "run.angpt.convergence.cpu.sweep" + std::to_string(lr)));
      // The rates that the sweep's parabola will choose, found by the same few lines that tune()
      // uses on records.
      for (const int64_t budget : {options.budgets.front(), options.budgets.back()}) {
        size_t best = 1;
        for (size_t i = 1; i + 1 < options.grid.size(); ++i)
          if (std::abs(std::log2(options.grid[i] / options.best_lr)) <
              std::abs(std::log2(options.grid[best] / options.best_lr)))
            best = i;
        double x[3], y[3];
        for (size_t k = 0; k < 3; ++k) {
          const double lr = options.grid[best - 1 + k];
          x[k] = std::log2(lr);
          y[k] = synthetic_loss(options, {"", "", arm.name, dataset, budget, 101, lr});
        }
        const Parabola p = parabola_through(x, y);
        char text[32];
        std::snprintf(text, sizeof text, "%.2e", std::exp2(-p.b / (2 * p.c)));
        input.peak_lr[arm.name][dataset].push_back({budget, std::strtod(text, nullptr)});
        if (options.budgets.size() == 1) break;
      }
      for (const int64_t budget : options.budgets)
        for (const int64_t seed : options.seeds)
          input.runs.push_back(planned({"", "", arm.name, dataset, budget, seed,
                                        input.peak_lr[arm.name][dataset].front().peak_lr},
                                       "run.angpt.convergence.cpu"));
    }
  input.published = {
      {"speed_up", {{"value", 1.4}, {"unit", "ratio"}, {"how", "printed"}, {"where", "abstract"}}}};
  input.claims =
      Json::array({{{"id", "speed_up"},
                    {"statement", "anGPT needs fewer tokens than GPT+ for the same loss"},
                    {"rule", "speed_up"},
                    {"challenger", "angpt"},
                    {"reference", "gpt_plus"},
                    {"published", "/speed_up"},
                    {"conditions", "GPT+ has QK norm"}},
                   {{"id", "parity"},
                    {"statement", "anGPT is not worse than GPT+"},
                    {"rule", "non_inferiority"},
                    {"challenger", "angpt"},
                    {"reference", "gpt_plus"},
                    {"margin_nats", .02}}});
  input.deviations =
      Json::array({{{"what", "width"}, {"paper", "1024"}, {"here", "64"}, {"why", "a CPU"}}});
  input.not_tested =
      Json::array({{{"what", "downstream accuracy"}, {"why", "needs the paper's data and size"}}});
  for (const auto& arm : input.arms)
    input.canaries[arm.name] = {options.numeric_class, "digest of " + arm.name, {}};
  return input;
}

void write_record(const std::string& runs_folder, const RunRef& run,
                  const SyntheticOptions& options, const RecordEdit& edit) {
  double loss = synthetic_loss(options, run);
  const bool diverged = edit.diverged || std::isinf(loss);
  if (std::isinf(loss)) loss = 9;
  Json manifest = manifest_of(run, options);
  const int64_t all = run.token_budget / options.tokens_per_step,
                steps = diverged ? std::max<int64_t>(1, all / 3) : all;
  std::vector<std::string> lines;
  for (int64_t i = 1; i <= steps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(all);
    const double train = loss + .05 + (6.93 - loss) * std::exp(-9 * share) + .2 * (1 - share) +
                         .06 * noise(run.run_id + std::to_string(i));
    lines.push_back(canonical(Json{{"step", i},
                                   {"tokens", i * options.tokens_per_step},
                                   {"loss", train},
                                   {"lr", run.peak_lr},
                                   {"grad_norm", 1.0},
                                   {"seconds", .1}}));
  }
  Json summary{{"schema", "normbench-summary-1"},
               {"run_id", run.run_id},
               {"status", diverged ? "diverged" : "finished"},
               {"steps", steps},
               {"tokens", steps * options.tokens_per_step},
               {"validation_tokens", 65536},
               {"train_loss_last", loss},
               {"seconds_train", 100.0},
               {"seconds_evaluation", 1.0},
               {"tokens_per_second", 20000.0},
               {"step_seconds_median",
                options.step_seconds.contains(run.arm) ? options.step_seconds.at(run.arm) : .1},
               {"peak_memory_bytes", 1000000},
               {"steps_digest", xxh3_hex("steps of " + run.run_id)},
               {"weights_digest", "w"},
               {"sessions", 1}};
  if (diverged)
    summary["diverged_at_step"] = steps;
  else
    summary["validation_loss"] = loss, summary["validation_loss_bits"] = double_bits(loss);
  write_sealed(runs_folder, run, manifest, lines, summary, edit);
}

void write_measurement(const std::string& runs_folder, const RunRef& run,
                       const std::vector<Json>& rows, const Json& values, const RecordEdit& edit) {
  std::vector<std::string> lines;
  for (Json row : rows) {
    row["row"] = lines.size() + 1;
    lines.push_back(canonical(row));
  }
  const Json summary{{"schema", "normbench-summary-1"},
                     {"run_id", run.run_id},
                     {"status", "finished"},
                     {"rows", lines.size()},
                     {"values", values}};
  write_sealed(runs_folder, run, manifest_of(run, {}), lines, summary, edit);
}

void write_all(const std::string& runs_folder, const JudgeInput& input,
               const SyntheticOptions& options) {
  for (const auto* runs : {&input.runs, &input.sweep_runs})
    for (const auto& run : *runs) write_record(runs_folder, run, options);
}

}  // namespace normbench::testing
