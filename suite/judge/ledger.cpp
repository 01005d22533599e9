#include "suite/judge/ledger.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "suite/judge/claim.h"
#include "suite/judge/text.h"

namespace normbench {
namespace {

Json records_json(const std::vector<Record>& records) {
  Json counts{{"planned", records.size()}, {"finished", 0}, {"diverged", 0}, {"absent", 0}, {"damaged", 0}, {"stale", 0},
              {"unusable", Json::array()}, {"diverged_runs", Json::array()}};
  for (const auto& record : records) {
    counts[record_state_name(record.state)] = counts[record_state_name(record.state)].get<int>() + 1;
    if (!record.usable())
      counts["unusable"].push_back(record.run.name + " (" + record.run.run_id + ") is " + record_state_name(record.state) +
                                   ": " + record.reason);
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
          if (record.run.arm != arm.name || record.run.dataset != dataset || record.run.token_budget != budget) continue;
          ++planned;
          if (!record.usable()) continue;
          diverged += record.diverged();
          if (!record.diverged()) losses.push_back(record.validation_loss());
          values.push_back({{"seed", record.run.seed}, {"run_id", record.run.run_id},
                            {"loss", record.diverged() ? Json() : Json(record.validation_loss())}});
        }
        rows.push_back({{"dataset", dataset}, {"arm", arm.name}, {"budget", budget}, {"planned", planned},
                        {"n", losses.size()}, {"diverged", diverged}, {"values", values},
                        {"mean", losses.empty() ? Json() : Json(mean(losses))},
                        {"s", losses.size() < 2 ? Json() : Json(sample_sd(losses))}});
      }
  return rows;
}

Json step_times_json(const Evidence& evidence) {
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets) {
    std::optional<double> first;
    std::string first_class;
    for (const auto& arm : evidence.input.arms) {
      const auto seconds = evidence.seconds_per_token(arm.name, dataset);
      if (!seconds) continue;
      const std::string perf_class = evidence.perf_class(arm.name, dataset);
      if (!first) first = seconds, first_class = perf_class;
      rows.push_back({{"dataset", dataset}, {"arm", arm.name}, {"tokens_per_second", 1 / *seconds}, {"perf_class", perf_class},
                      {"relative", perf_class == first_class ? Json(*seconds / *first) : Json()}});
    }
  }
  return rows;
}

Json tuning_json(const Tuning& tuning) {
  Json rows = Json::array();
  for (const auto& point : tuning.points) {
    Json trials = Json::array();
    for (const auto& trial : point.trials)
      trials.push_back({{"peak_lr", trial.peak_lr}, {"planned", trial.planned}, {"runs", trial.runs}, {"diverged", trial.diverged},
                        {"loss", std::isfinite(trial.loss) ? Json(trial.loss) : Json()}});
    rows.push_back({{"arm", point.arm}, {"dataset", point.dataset}, {"budget", point.token_budget}, {"seeds", point.seeds},
                    {"trials", trials}, {"num_trials", point.num_trials()}, {"complete", point.complete},
                    {"on_edge", point.on_edge}, {"best_lr", point.best_lr}, {"chosen_lr", point.chosen_lr},
                    {"table_lr", point.table_lr ? Json(*point.table_lr) : Json()},
                    {"parabola", point.parabola ? Json{point.parabola->a, point.parabola->b, point.parabola->c} : Json()},
                    {"problems", point.problems}});
  }
  return rows;
}

// Training loss of the longest budget, mean over seeds and over bins that are equally wide in log tokens: enough for a plot.
Json curves_json(const Evidence& evidence) {
  constexpr int kBins = 80;
  constexpr double kFirstShare = 1.0 / 128;  // of the budget; before that, every arm falls down the same cliff
  Json rows = Json::array();
  for (const auto& dataset : evidence.input.datasets)
    for (const auto& arm : evidence.input.arms) {
      const auto budgets = evidence.budgets(arm.name, dataset);
      if (budgets.empty()) continue;
      const auto budget = static_cast<double>(budgets.back());
      double sum[kBins] = {}, tokens_sum[kBins] = {};
      int count[kBins] = {}, runs = 0;
      for (const auto& record : evidence.runs) {
        if (record.run.arm != arm.name || record.run.dataset != dataset || record.run.token_budget != budgets.back() ||
            !record.usable())
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
        if (count[i] > 0) points.push_back({std::round(tokens_sum[i] / count[i]), sum[i] / count[i]});
      if (!points.empty())
        rows.push_back({{"dataset", dataset}, {"arm", arm.name}, {"budget", budgets.back()}, {"runs", runs}, {"points", points}});
    }
  return rows;
}

std::string baseline_state(const std::string& file, const std::set<std::string>& classes) {
  if (!std::filesystem::exists(file)) return "absent (the regression checks are red)";
  const Json baseline = read_json(file);
  const Json entries = baseline.value("entries", Json::object());
  std::vector<std::string> known, unknown;
  for (const auto& name : classes) (entries.contains(name) ? known : unknown).push_back(name);
  std::string text = std::to_string(entries.size()) + (entries.size() == 1 ? " numeric class" : " numeric classes");
  if (!known.empty()) text += "; judged by exact bits: " + join(known, "; ");
  if (!unknown.empty()) text += "; judged by prediction interval: " + join(unknown, "; ");
  return text;
}

// ------------------------------------------------------------------------------------------------ text

const Json& arm_of(const Json& ledger, const std::string& name) {
  for (const auto& arm : ledger.at("arms"))
    if (arm.at("name") == name) return arm;
  throw UserError({.what = "the ledger has no such arm", .found = name});
}

std::string number(const Json& value, int digits) { return value.is_number() ? fixed(value.get<double>(), digits) : "open"; }

std::string unit_number(const Json& value, const std::string& unit) {
  if (!value.is_number()) return "open";
  const double x = value.get<double>();
  if (unit == "x") return fixed(x, 2) + "x";
  if (unit == "%") return fixed(x, 2) + " %";
  return fixed(x, 3);
}

std::string paper_text(const Json& verdict) {
  const Json& paper = verdict.at("paper");
  if (!paper.is_object()) return "-";
  if (verdict.at("rule") == "non_inferiority") return "< " + fixed(paper.at("value").get<double>(), 3);
  return unit_number(paper.at("value"), verdict.at("here").at("unit"));
}

std::string here_text(const Json& verdict) {
  const Json& here = verdict.at("here");
  if (!here.at("estimate").is_number()) return "-";
  const std::string bound = here.at("bound");
  return (bound == "open" ? "~" : bound) + unit_number(here.at("estimate"), here.at("unit"));
}

std::string interval_text(const Json& row, const std::string& unit) {
  if (!row.at("low").is_number() && !row.at("high").is_number()) return "-";
  return unit_number(row.at("low"), unit) + " .. " + unit_number(row.at("high"), unit);
}

std::string budgets_text(const Json& verdict) {
  std::vector<std::string> parts;
  const std::string unit = verdict.at("here").at("unit");
  for (const auto& row : verdict.at("per_budget")) {
    if (!row.at("estimate").is_number()) continue;
    const std::string bound = row.at("bound");
    parts.push_back(tokens_text(row.at("budget").get<double>()) + (row.at("counts").get<bool>() ? " " : "* ") +
                    (bound == "open" ? "~" : bound) + unit_number(row.at("estimate"), unit) +
                    (row.at("low").is_number() || row.at("high").is_number() ? " (" + interval_text(row, unit) + ")" : ""));
  }
  return join(parts, ", ");
}

std::string claims_text(const Json& ledger, size_t width) {
  std::string text;
  std::string last_claim;
  int index = 0;
  for (const auto& verdict : ledger.at("claims")) {
    if (verdict.at("claim") != last_claim) {
      last_claim = verdict.at("claim");
      text += "\n" + wrap("[" + std::to_string(++index) + "] " + verdict.at("statement").get<std::string>() + "  (" + last_claim + ", " +
                              verdict.at("rule").get<std::string>() + ")", width, "");
      if (const auto conditions = verdict.at("conditions").get<std::string>(); !conditions.empty())
        text += wrap("conditions: " + conditions, width, "    ");
      text += "    " + pad("text", 16) + pad("paper", 9) + pad("here", 11) +
              pad("interval " + fixed(100 * (1 - ledger.at("alpha").get<double>()), 0) + " %", 20) + pad("pairs", 7) + "verdict\n";
    }
    const std::string unit = verdict.at("here").at("unit");
    text += "    " + pad(verdict.at("dataset"), 16) + pad(paper_text(verdict), 9) + pad(here_text(verdict), 11) +
            pad(interval_text(verdict.at("here"), unit), 20) +
            pad(verdict.at("pairs").dump() + "/" + verdict.at("planned_pairs").dump(), 7) + verdict.at("verdict").get<std::string>() + "\n";
    text += wrap("why: " + verdict.at("reason").get<std::string>(), width, "      ");
    if (const auto budgets = budgets_text(verdict); !budgets.empty())
      text += wrap("by budget: " + budgets, width, "      ");
    if (const Json& seconds = verdict.at("seconds"); seconds.is_object() && seconds.at("estimate").is_number())
      text += wrap("in seconds: " + unit_number(seconds.at("estimate"), "x") + " (" + interval_text(seconds, "x") +
                       "); a step of " + arm_of(ledger, verdict.at("challenger")).at("label").get<std::string>() + " takes " +
                       number(seconds.at("step_time_ratio"), 2) + " times as long", width, "      ");
    if (const Json& own = verdict.at("paper_estimator"); own.is_object()) {
      std::vector<std::string> parts;
      for (const auto& row : own.at("per_budget"))
        if (row.at("ratio").is_number())
          parts.push_back(tokens_text(row.at("budget").get<double>()) + " " + unit_number(row.at("ratio"), "x") +
                          (row.at("extrapolated").get<bool>() ? " (extrapolated)" : ""));
      if (!parts.empty())
        text += wrap("the paper's own estimator (linear chords, mean losses): " + join(parts, ", ") +
                         (own.at("headline").is_number() ? "; mean over the range " + unit_number(own.at("headline"), "x") : ""),
                     width, "      ");
    }
    std::vector<std::string> small;
    if (verdict.at("detectable").is_number())
      small.push_back("smallest effect found with 80 % power: " + unit_number(verdict.at("detectable"), unit) + (unit == "nats" ? " nats" : ""));
    if (verdict.at("p_value").is_number())
      small.push_back("p of no effect " + fixed(verdict.at("p_value").get<double>(), 4) + ", Holm over the table " +
                      number(verdict.at("p_holm"), 4));
    std::vector<std::string> trials;
    for (auto it = verdict.at("trials").begin(); it != verdict.at("trials").end(); ++it)
      trials.push_back(arm_of(ledger, it.key()).at("label").get<std::string>() + " " + it.value().dump());
    small.push_back("learning-rate trials: " + join(trials, ", "));
    text += wrap(join(small, "; "), width, "      ");
    for (const auto& note : verdict.at("notes")) text += wrap("note: " + note.get<std::string>(), width, "      ");
    for (const auto& run : verdict.at("diverged")) text += wrap("diverged: " + run.get<std::string>(), width, "      ");
  }
  return text;
}

std::string losses_text(const Json& ledger, size_t width) {
  std::string text;
  constexpr size_t kLabel = 26, kCell = 17;
  for (const auto& dataset : ledger.at("datasets")) {
    std::set<int64_t> budgets;
    for (const auto& row : ledger.at("losses"))
      if (row.at("dataset") == dataset) budgets.insert(row.at("budget").get<int64_t>());
    const std::vector<int64_t> all(budgets.begin(), budgets.end());
    const size_t per_block = std::max<size_t>(1, (width - kLabel) / kCell);
    for (size_t start = 0; start < all.size(); start += per_block) {
      const size_t end = std::min(all.size(), start + per_block);
      text += "\n" + pad(dataset.get<std::string>(), kLabel);
      for (size_t i = start; i < end; ++i) text += pad(tokens_text(static_cast<double>(all[i])), kCell, true);
      text += "\n";
      for (const auto& arm : ledger.at("arms")) {
        const bool warns = !arm.at("warning").get<std::string>().empty();
        std::string line = pad((warns ? "! " : "  ") + arm.at("label").get<std::string>(), kLabel);
        bool any = false;
        for (size_t i = start; i < end; ++i) {
          std::string cell = "-";
          for (const auto& row : ledger.at("losses"))
            if (row.at("dataset") == dataset && row.at("arm") == arm.at("name") && row.at("budget") == all[i]) {
              any = true;
              if (row.at("mean").is_number()) cell = fixed(row.at("mean").get<double>(), 3);
              if (row.at("s").is_number()) cell += " +-" + fixed(row.at("s").get<double>(), 3).substr(1);
              if (row.at("diverged").get<int>() > 0) cell += " D" + row.at("diverged").dump();
              else cell += " " + row.at("n").dump();
            }
          line += pad(cell, kCell, true);
        }
        if (any) text += line + "\n";
      }
    }
    std::vector<std::string> speeds;
    for (const auto& row : ledger.at("step_times"))
      if (row.at("dataset") == dataset && row.at("relative").is_number())
        speeds.push_back(arm_of(ledger, row.at("arm")).at("label").get<std::string>() + " " +
                         number(row.at("relative"), 2) + " (" + tokens_text(row.at("tokens_per_second").get<double>()) + " tok/s)");
    if (!speeds.empty()) text += wrap("time of a step, relative: " + join(speeds, ", "), width, "  ");
  }
  for (const auto& arm : ledger.at("arms"))
    if (const auto warning = arm.at("warning").get<std::string>(); !warning.empty())
      text += wrap("! " + arm.at("label").get<std::string>() + " is a warning row: " + warning, width, "  ");
  return text;
}

std::string tuning_text(const Json& ledger, size_t width) {
  std::string text;
  if (ledger.at("tuning").empty()) {
    const auto source = ledger.at("peak_lr_source").get<std::string>();
    return wrap(source.empty() ? "no sweep at this tier: the rates are as the table file gives them" : "rates from " + source, width, "  ");
  }
  text += "  " + pad("arm", 24) + pad("text", 15) + pad("tokens", 9, true) + pad("trials", 8, true) + pad("grid", 19, true) +
          pad("best", 9, true) + pad("chosen", 9, true) + "\n";
  for (const auto& row : ledger.at("tuning")) {
    const auto& trials = row.at("trials");
    const std::string grid = trials.empty() ? "-" : trials.front().at("peak_lr").dump() + " .. " + trials.back().at("peak_lr").dump();
    text += "  " + pad(arm_of(ledger, row.at("arm")).at("label"), 24) + pad(row.at("dataset"), 15) +
            pad(tokens_text(row.at("budget").get<double>()), 9, true) + pad(row.at("num_trials").dump(), 8, true) +
            pad(grid, 19, true) + pad(row.at("best_lr").dump(), 9, true) + pad(row.at("chosen_lr").dump(), 9, true) + "\n";
    for (const auto& problem : row.at("problems")) text += wrap("! " + problem.get<std::string>(), width, "      ");
  }
  return text;
}

std::string heading(const std::string& text) { return "\n" + text + "\n" + std::string(text.size(), '-') + "\n"; }

}  // namespace

Json judge_table(const JudgeInput& input, const std::string& runs_folder, const std::string& baselines_folder) {
  const Evidence evidence = Evidence::load(input, runs_folder);
  std::vector<Verdict> verdicts;
  for (const auto& claim : read_claims(input))
    for (const auto& dataset : claim.datasets) verdicts.push_back(judge_claim(claim, evidence, dataset));

  // Many verdicts at 95 % each: the adjusted p-values say which would survive as a family.
  std::vector<double> p_values;
  for (const auto& verdict : verdicts)
    if (verdict.p_value) p_values.push_back(*verdict.p_value);
  const auto adjusted = holm_adjusted(p_values);
  size_t next = 0;
  for (auto& verdict : verdicts)
    if (verdict.p_value) verdict.p_holm = adjusted[next++];

  std::set<std::string> numeric_classes, perf_classes, builds;
  double seconds = 0;
  for (const auto* records : {&evidence.runs, &evidence.sweep})
    for (const auto& record : *records) {
      if (!record.usable()) continue;
      numeric_classes.insert(record.numeric_class());
      perf_classes.insert(record.manifest.value("perf_class", ""));
      builds.insert(record.manifest.value("build", Json::object()).dump());
      seconds += record.summary.value("seconds_train", 0.0) + record.summary.value("seconds_evaluation", 0.0);
    }

  Json ledger{{"schema", "normbench-ledger-1"}, {"paper", input.paper}, {"table", input.table}, {"tier", input.tier},
              {"title", input.title}, {"table_file", input.table_file}, {"source", input.source}, {"size", input.size},
              {"alpha", input.alpha}, {"datasets", input.datasets}, {"arms", Json::array()}, {"claims", Json::array()},
              {"records", records_json(evidence.runs)}, {"sweep_records", records_json(evidence.sweep)},
              {"losses", losses_json(evidence)}, {"step_times", step_times_json(evidence)}, {"tuning", tuning_json(evidence.tuning)},
              {"peak_lr_source", input.peak_lr_source}, {"curves", curves_json(evidence)}, {"numeric_classes", numeric_classes},
              {"perf_classes", perf_classes}, {"builds", builds}, {"seconds", seconds}, {"deviations", input.deviations},
              {"not_tested", input.not_tested}};
  for (const auto& arm : input.arms)
    ledger["arms"].push_back({{"name", arm.name}, {"label", arm.label}, {"note", arm.note}, {"warning", arm.warning}});
  for (const auto& verdict : verdicts) ledger["claims"].push_back(verdict.json());
  ledger["baseline"] = baselines_folder.empty() ? "not looked at" : baseline_state(baseline_path(input, baselines_folder), numeric_classes);
  return ledger;
}

std::string ledger_text(const Json& ledger, size_t width) {
  const Json &records = ledger.at("records"), &sweep = ledger.at("sweep_records");
  const std::string name = ledger.at("paper").get<std::string>() + "." + ledger.at("table").get<std::string>();
  std::string text = std::string(width, '=') + "\n";
  text += wrap(name + ", tier " + ledger.at("tier").get<std::string>() + ": " + ledger.at("title").get<std::string>(), width, "");
  text += std::string(width, '=') + "\n";
  const auto line = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    std::string wrapped = wrap(value, width, "           ");
    wrapped.replace(0, key.size(), key);
    text += wrapped;
  };
  const Json& source = ledger.at("source");
  if (source.is_object()) {
    std::vector<std::string> parts;
    for (const char* key : {"paper", "where", "values"})
      if (source.contains(key) && source[key].is_string()) parts.push_back(source[key].get<std::string>());
    line("source", join(parts, ", "));
  }
  line("model", ledger.at("size"));
  line("runs", records.at("finished").dump() + " of " + records.at("planned").dump() + " finished, " + records.at("diverged").dump() +
                   " diverged, " + records.at("absent").dump() + " absent, " + records.at("stale").dump() + " stale, " +
                   records.at("damaged").dump() + " damaged; sweep: " + sweep.at("finished").dump() + " of " +
                   sweep.at("planned").dump() + " finished, " + sweep.at("diverged").dump() + " diverged; " +
                   fixed(ledger.at("seconds").get<double>() / 3600, 2) + " hours of computing in all");
  line("baseline", ledger.at("baseline"));
  std::map<std::string, int> counts;
  for (const auto& verdict : ledger.at("claims")) ++counts[verdict.at("verdict").get<std::string>()];
  std::vector<std::string> parts;
  for (const auto& [verdict, n] : counts) parts.push_back(std::to_string(n) + " " + verdict);
  line("verdicts", join(parts, ", "));

  text += heading("CLAIMS  paper | here | verdict  (docs/method.md says how a number becomes a verdict)");
  text += claims_text(ledger, width);
  text += "\n  * this budget times the claimed ratio lies outside the ladder: shown, but not part of the verdict\n";
  text += heading("VALIDATION LOSS  nats per token, mean +- sd over seeds, number of runs (D: diverged)");
  text += losses_text(ledger, width);
  text += heading("TUNED LEARNING RATES");
  text += tuning_text(ledger, width);
  const auto faults = [&](const Json& of, const std::string& what) {
    constexpr size_t kShown = 8;
    const Json& list = of.at("unusable");
    if (list.empty()) return;
    text += heading(what);
    for (size_t i = 0; i < std::min(kShown, list.size()); ++i) text += wrap(list[i], width, "  ");
    if (list.size() > kShown) text += "  and " + std::to_string(list.size() - kShown) + " more\n";
  };
  faults(records, "RUNS THAT CANNOT BE READ");
  faults(sweep, "TRIALS THAT CANNOT BE READ");
  const auto entries = [&](const char* key, const std::string& title, const std::vector<const char*>& fields) {
    const Json& list = ledger.at(key);
    if (!list.is_array() || list.empty()) return;
    text += heading(title);
    for (const auto& entry : list) {
      std::vector<std::string> said;
      for (const char* field : fields)
        if (entry.is_object() && entry.contains(field) && entry[field].is_string())
          said.push_back(std::string(field == std::string("what") ? "" : field) + (field == std::string("what") ? "" : ": ") + entry[field].get<std::string>());
      text += wrap("- " + (entry.is_string() ? entry.get<std::string>() : join(said, "; ")), width, "  ");
    }
  };
  entries("deviations", "DEVIATIONS FROM THE PAPER", {"what", "paper", "here", "why"});
  entries("not_tested", "NOT TESTED", {"what", "why"});
  return text;
}

CheckResult check_claim(const JudgeInput& input, const std::string& runs_folder, const std::string& claim_id) {
  const Evidence evidence = Evidence::load(input, runs_folder);
  std::vector<std::string> ids;
  for (const auto& claim : read_claims(input)) {
    ids.push_back(claim.id);
    if (claim.id != claim_id) continue;
    CheckResult result{CheckResult::Color::kGreen, claim.statement};
    size_t there = 0, missing = 0;
    for (const auto& dataset : claim.datasets) {
      const Verdict verdict = judge_claim(claim, evidence, dataset);
      result.text += "\n  " + dataset + ": " + outcome_name(verdict.outcome) + "\n" + wrap(verdict.reason, 100, "    ");
      for (const auto& run : verdict.missing) result.text += wrap("* " + run, 100, "    ");
      missing += verdict.missing.size();
    }
    for (const auto& record : evidence.runs)
      there += record.state != RecordState::kAbsent &&
               (record.run.arm == claim.challenger || record.run.arm == claim.reference);
    if (missing > 0) result.color = there > 0 ? CheckResult::Color::kRed : CheckResult::Color::kNotRun;
    result.text = std::string(result.color == CheckResult::Color::kGreen ? "green  " : result.color == CheckResult::Color::kRed ? "RED  " : "not run  ") + result.text;
    return result;
  }
  const std::string hint = nearest(claim_id, ids);
  throw UserError({.what = "no such claim at tier " + input.tier, .where = input.table_file, .found = "\"" + claim_id + "\"",
                   .expected = "one of: " + join(ids, ", "), .todo = hint.empty() ? "" : "did you mean \"" + hint + "\"?"});
}

}  // namespace normbench
