#include "suite/judge/ledger.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/judge/baseline.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/ledger_probes.h"
#include "suite/judge/stable_rate.h"
#include "suite/judge/step_time.h"
#include "suite/judge/token_ratio.h"

namespace normbench {
namespace {

Json records_json(const std::vector<Record>& records) {
  Json counts{{"planned", records.size()},
              {"finished", 0},
              {"diverged", 0},
              {"absent", 0},
              {"damaged", 0},
              {"stale", 0},
              {"unusable", Json::array()},
              {"diverged_runs", Json::array()}};
  for (const auto& record : records) {
    counts[record_state_name(record.state)] =
        counts[record_state_name(record.state)].get<int>() + 1;
    if (!record.usable())
      counts["unusable"].push_back(
          record.run.name + (record.run.run_id.empty() ? "" : " (" + record.run.run_id + ")") +
          " is " + record_state_name(record.state) + ": " + record.reason);
    if (record.diverged())
      counts["diverged_runs"].push_back(record.run.name + " at step " +
                                        record.summary.value("diverged_at_step", Json("?")).dump());
  }
  return counts;
}

Json losses_json(const Evidence& evidence) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets)
    for (const auto& arm : evidence.input.arms)
      for (const int64_t budget : evidence.budgets(arm.name, dataset)) {
        Json values = Json::array();
        std::vector<double> losses;
        int planned = 0, diverged = 0;
        for (const auto& record : evidence.runs) {
          if (record.run.arm != arm.name || record.run.dataset != dataset ||
              record.run.token_budget != budget)
            continue;
          ++planned;
          if (!record.usable()) continue;
          diverged += record.diverged();
          if (!record.diverged()) losses.push_back(record.validation_loss());
          values.push_back({{"seed", record.run.seed},
                            {"run_id", record.run.run_id},
                            {"loss", record.diverged() ? Json() : Json(record.validation_loss())}});
        }
        rows.push_back({{"dataset", dataset},
                        {"arm", arm.name},
                        {"budget", budget},
                        {"planned", planned},
                        {"n", losses.size()},
                        {"diverged", diverged},
                        {"values", values},
                        {"mean", losses.empty() ? Json() : Json(mean(losses))},
                        {"s", losses.size() < 2 ? Json() : Json(sample_sd(losses))}});
      }
  return rows;
}

// Relative to the yardstick, in a table without one to the first arm that was timed.
Json step_times_json(const Evidence& evidence) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets) {
    std::string first = evidence.input.yardstick;
    for (const auto& arm : evidence.input.arms) {
      if (first.empty() && token_time_ratio(evidence, arm.name, arm.name, dataset))
        first = arm.name;
      const auto relative = token_time_ratio(evidence, arm.name, first, dataset);
      if (!relative) continue;
      const auto speed = tokens_per_second(evidence, arm.name, dataset);
      rows.push_back({{"dataset", dataset},
                      {"arm", arm.name},
                      {"relative", relative->ratio},
                      {"low", relative->low},
                      {"high", relative->high},
                      {"tokens_per_second", speed ? Json(*speed) : Json()}});
    }
  }
  return rows;
}

// What a token of training costs each arm, beside the time that it takes.
Json token_flops_json(const Evidence& evidence) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets) {
    std::optional<double> first = evidence.flops_per_token(evidence.input.yardstick, dataset);
    for (const auto& arm : evidence.input.arms) {
      const auto flops = evidence.flops_per_token(arm.name, dataset);
      if (!flops) continue;
      if (!first) first = flops;
      rows.push_back({{"dataset", dataset},
                      {"arm", arm.name},
                      {"flops_per_token", *flops},
                      {"relative", *flops / *first}});
    }
  }
  return rows;
}

// What each run of a measurement found: its named values.
Json measurements_json(const Evidence& evidence) {
  Json rows = Json::array();
  for (const auto& measurement : evidence.input.measurements) {
    Json runs = Json::array();
    for (const int64_t seed : evidence.measurement_seeds(measurement.name)) {
      const Record* record = evidence.measurement(measurement.name, seed);
      runs.push_back({{"seed", seed},
                      {"run_id", record->run.run_id},
                      {"values", record->usable() ? record->summary.at("values") : Json()}});
    }
    rows.push_back({{"name", measurement.name},
                    {"label", measurement.label},
                    {"note", measurement.note},
                    {"runs", runs}});
  }
  return rows;
}

Json tuning_json(const Tuning& tuning) {
  Json rows = Json::array();
  for (const auto& point : tuning.points) {
    Json trials = Json::array();
    for (const auto& trial : point.trials)
      trials.push_back({{"peak_lr", trial.peak_lr},
                        {"planned", trial.planned},
                        {"runs", trial.runs},
                        {"run_ids", trial.run_ids},
                        {"diverged", trial.diverged},
                        {"loss", std::isfinite(trial.loss) ? Json(trial.loss) : Json()}});
    rows.push_back(
        {{"arm", point.arm},
         {"dataset", point.dataset},
         {"budget", point.token_budget},
         {"seeds", point.seeds},
         {"trials", trials},
         {"num_trials", point.num_trials()},
         {"complete", point.complete},
         {"on_edge", point.on_edge},
         {"best_lr", point.best_lr},
         {"chosen_lr", point.chosen_lr},
         {"table_lr", point.table_lr ? Json(*point.table_lr) : Json()},
         {"parabola",
          point.parabola ? Json{point.parabola->a, point.parabola->b, point.parabola->c} : Json()},
         {"problems", point.problems},
         {"doubts", point.doubts}});
  }
  return rows;
}

// Training loss of the longest budget, mean over seeds and over bins that are equally wide in log
// tokens: enough for a plot.
Json curves_json(const Evidence& evidence) {
  constexpr int kBins = 80;
  constexpr double kFirstShare =
      1.0 / 128;  // of the budget; before that, every arm falls down the same cliff
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets)
    for (const auto& arm : evidence.input.arms) {
      const auto budgets = evidence.budgets(arm.name, dataset);
      if (budgets.empty()) continue;
      const auto budget = static_cast<double>(budgets.back());
      double sum[kBins] = {}, tokens_sum[kBins] = {};
      int count[kBins] = {}, runs = 0;
      for (const auto& record : evidence.runs) {
        if (record.run.arm != arm.name || record.run.dataset != dataset ||
            record.run.token_budget != budgets.back() || !record.usable())
          continue;
        ++runs;
        for (const auto& line : record.step_lines) {
          const double tokens = number_in_line(line, "tokens"), loss = number_in_line(line, "loss");
          const double place = 1 - std::log(tokens / budget) / std::log(kFirstShare);
          if (!(place >= 0) || !std::isfinite(loss)) continue;
          const int bin = std::clamp(static_cast<int>(place * kBins), 0, kBins - 1);
          sum[bin] += loss;
          tokens_sum[bin] += tokens;
          ++count[bin];
        }
      }
      Json points = Json::array();
      for (int i = 0; i < kBins; ++i)
        if (count[i] > 0)
          points.push_back({std::round(tokens_sum[i] / count[i]), sum[i] / count[i]});
      if (!points.empty())
        rows.push_back({{"dataset", dataset},
                        {"arm", arm.name},
                        {"budget", budgets.back()},
                        {"runs", runs},
                        {"points", points}});
    }
  return rows;
}

// The smoke tier runs everywhere and its baseline belongs to every checkout; the others are
// measured by whoever has the hours (suite/app/check_command.cpp).
std::string no_baseline_text(const std::string& tier) {
  return tier == "smoke" ? "absent (the regression checks are red)"
                         : "absent (the regression checks are skipped until it is blessed)";
}

std::string baseline_state(const JudgeInput& input, const std::string& file,
                           const std::set<std::string>& classes) {
  if (!std::filesystem::exists(file)) return no_baseline_text(input.tier);
  const Json baseline = read_baseline(input, file);
  const Json& entries = baseline["entries"];
  std::vector<std::string> known, unknown;
  for (const auto& name : classes) (entries.contains(name) ? known : unknown).push_back(name);
  std::string text = std::to_string(entries.size()) +
                     (entries.size() == 1 ? " numeric class" : " numeric classes");
  if (!known.empty()) text += "; judged by exact bits: " + join(known, "; ");
  if (!unknown.empty()) text += "; judged by prediction interval: " + join(unknown, "; ");
  return text;
}

}  // namespace

Json judge_table(const JudgeInput& input, const std::string& runs_folder,
                 const std::string& baselines_folder) {
  const Evidence evidence = Evidence::load(input, runs_folder);
  const auto claims = read_claims(input);
  std::vector<Verdict> verdicts;
  for (const auto& claim : claims)
    for (const auto& dataset : claim.datasets)
      verdicts.push_back(judge_claim(claim, evidence, dataset));

  // Many verdicts at 95 % each: the adjusted p-values say which would survive as a family.
  std::vector<double> p_values;
  for (const auto& verdict : verdicts)
    if (verdict.p_value) p_values.push_back(*verdict.p_value);
  const auto adjusted = holm_adjusted(p_values);
  size_t next = 0;
  for (auto& verdict : verdicts) {
    if (!verdict.p_value) continue;
    verdict.p_holm = adjusted[next++];
    const bool shown =
        verdict.outcome == Outcome::kReproduced || verdict.outcome == Outcome::kDirectionOnly ||
        (verdict.outcome == Outcome::kNotReproduced && find_rule(verdict.rule).p_of_no_effect);
    verdict.alone_only = shown && *verdict.p_value <= input.alpha && *verdict.p_holm > input.alpha;
    if (verdict.alone_only)
      verdict.notes.push_back(
          "asked alone it stands; among the " + count_text(p_values.size(), "verdict") +
          " with a p in this table it does not (Holm " + fixed(*verdict.p_holm, 3) + ")");
  }

  std::set<std::string> numeric_classes, gated_classes, perf_classes, builds;
  double seconds = 0;
  for (const auto* records : {&evidence.runs, &evidence.sweep})
    for (const auto& record : *records) {
      if (!record.usable()) continue;
      numeric_classes.insert(record.numeric_class());
      perf_classes.insert(record.manifest.value("perf_class", ""));
      builds.insert(record.manifest.value("build", Json::object()).dump());
      seconds += record.summary.value("seconds_train", 0.0) +
                 record.summary.value("seconds_evaluation", 0.0);
    }

  for (const auto& record : evidence.basis())
    if (record.usable()) gated_classes.insert(record.numeric_class());

  Json ledger{{"schema", "normbench-ledger-1"},
              {"paper", input.paper},
              {"table", input.table},
              {"tier", input.tier},
              {"title", input.title},
              {"table_file", input.table_file},
              {"source", input.source},
              {"size", input.size},
              {"alpha", input.alpha},
              {"datasets", input.datasets},
              {"arms", Json::array()},
              {"claims", Json::array()},
              {"records", records_json(evidence.runs)},
              {"sweep_records", records_json(evidence.sweep)},
              {"losses", losses_json(evidence)},
              {"step_times", step_times_json(evidence)},
              {"token_flops", token_flops_json(evidence)},
              {"tuning", tuning_json(evidence.tuning)},
              {"peak_lr_source", input.peak_lr_source},
              {"curves", curves_json(evidence)},
              {"numeric_classes", numeric_classes},
              {"perf_classes", perf_classes},
              {"builds", builds},
              {"seconds", seconds},
              {"deviations", input.deviations},
              {"not_tested", input.not_tested}};
  for (const auto& arm : input.arms)
    ledger["arms"].push_back(
        {{"name", arm.name}, {"label", arm.label}, {"note", arm.note}, {"warning", arm.warning}});
  if (!input.yardstick.empty())
    ledger["equal_loss"] = {{"yardstick", input.yardstick},
                            {"widest_step", widest_step(evidence, input.yardstick)},
                            {"rows", equal_loss_json(evidence, input.yardstick)}};
  for (const auto& claim : claims)
    if (claim.stable_within_nats && !ledger.contains("stable_rates"))
      ledger["stable_rates"] = {{"within_nats", *claim.stable_within_nats},
                                {"rows", stable_rates_json(evidence, *claim.stable_within_nats)}};
  if (!input.measurements.empty()) ledger["measurements"] = measurements_json(evidence);
  if (Json probes = probes_json(evidence); !probes.empty()) ledger["probes"] = std::move(probes);
  for (const auto& verdict : verdicts) ledger["claims"].push_back(verdict.json());
  ledger["baseline"] =
      baselines_folder.empty()
          ? "not looked at"
          : baseline_state(input, baseline_path(input, baselines_folder), gated_classes);
  return ledger;
}

CheckResult check_claim(const JudgeInput& input, const std::string& runs_folder,
                        const std::string& claim_id) {
  const Evidence evidence = Evidence::load(input, runs_folder);
  std::vector<std::string> ids;
  for (const auto& claim : read_claims(input)) {
    ids.push_back(claim.id);
    if (claim.id != claim_id) continue;
    CheckResult result{CheckResult::Color::kGreen, claim.statement};
    size_t there = 0, missing = 0;
    for (const auto& dataset : claim.datasets) {
      const Verdict verdict = judge_claim(claim, evidence, dataset);
      result.text += "\n  " + dataset + ": " + outcome_name(verdict.outcome) + "\n" +
                     wrap(verdict.reason, 100, "    ");
      for (const Record* record : records_of(claim, evidence, dataset))
        there += record->state != RecordState::kAbsent;
      auto unusable = verdict.missing;
      // Without its trials nobody knows whether the arms were tuned alike.
      for (const Record* trial : trials_of(claim, evidence, dataset))
        if (!trial->usable()) unusable.push_back(unusable_text(*trial));
      for (const auto& run : unusable) result.text += wrap("* " + run, 100, "    ");
      missing += unusable.size();
    }
    if (missing > 0)
      result.color = there > 0 ? CheckResult::Color::kRed : CheckResult::Color::kNotRun;
    result.text = std::string(result.color == CheckResult::Color::kGreen ? "green  "
                              : result.color == CheckResult::Color::kRed ? "RED  "
                                                                         : "not run  ") +
                  result.text;
    return result;
  }
  throw UserError({.what = "no such claim at tier " + input.tier,
                   .where = input.table_file,
                   .found = "\"" + claim_id + "\"",
                   .expected = one_of(ids),
                   .todo = did_you_mean(claim_id, ids)});
}

}  // namespace normbench
