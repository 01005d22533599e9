#include "suite/judge/bless.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "suite/base/files.h"
#include "suite/base/text.h"
#include "suite/judge/baseline.h"
#include "suite/judge/claim.h"
#include "suite/judge/gate.h"

namespace normbench {

std::string bless(const JudgeInput& input, const std::string& runs_folder,
                  const std::string& baseline_file, const BlessOptions& options) {
  const std::string what = input.paper + "." + input.table + ", tier " + input.tier;
  if (options.reason.empty())
    throw UserError(
        {.what = "a baseline needs a reason", .where = what, .todo = bless_command(input)});
  const Evidence evidence = Evidence::load(input, runs_folder);
  std::set<std::string> classes;
  std::vector<std::string> faults;
  std::set<std::string> may_diverge = options.may_diverge;
  const auto claims = read_claims(input);
  for (const auto& claim : claims)
    if (claim.rule == "divergence_expected") may_diverge.insert(claim.challenger);
  Json fingerprint;
  std::map<std::string, std::vector<const Record*>> groups;
  const bool only_sweeps = evidence.runs.empty();  // whose verdicts alone are kept
  for (const auto& record : evidence.basis()) {
    if (!record.usable()) {
      faults.push_back(unusable_text(record));
    } else if (record.diverged() && !only_sweeps && !may_diverge.contains(record.run.arm)) {
      faults.push_back(record.run.name + " diverged");
    } else {
      classes.insert(record.numeric_class());
      fingerprint = record.manifest.value("fingerprint", Json::object());
      if (!record.is_measurement() && !only_sweeps)
        groups[canonical(Json{record.run.arm, record.run.dataset, record.run.token_budget})]
            .push_back(&record);
    }
  }
  std::set<const Record*> trials;
  for (const auto& claim : claims)
    for (const auto& dataset : claim.datasets)
      for (const Record* trial : trials_of(claim, evidence, dataset)) trials.insert(trial);
  for (const Record* trial : trials)
    if (!trial->usable()) faults.push_back(unusable_text(*trial));
  if (!faults.empty())
    throw UserError({.what = "not a set of records that a baseline can be made of",
                     .where = what,
                     .found = std::to_string(faults.size()) + " of " +
                              count_text(evidence.basis().size() + trials.size(), "run") +
                              " unfit; the first: " + faults.front(),
                     .expected = "every planned run finished, whole and current",
                     .todo = "train what is missing first: " + run_all_command(input)});
  // The smoke tier is trained within minutes, and its bits are the gate of every machine of that
  // class. The others may come in pieces from several machines.
  if (classes.empty() || (classes.size() > 1 && input.tier == "smoke"))
    throw UserError({.what = "records of several numeric classes make no baseline of this tier",
                     .where = what,
                     .found = join({classes.begin(), classes.end()}, "; "),
                     .expected = "one class"});

  Json baseline{{"schema", kBaselineSchema},
                {"paper", input.paper},
                {"table", input.table},
                {"tier", input.tier},
                {"entries", Json::object()}};
  const bool existed = std::filesystem::exists(baseline_file);
  if (existed) baseline = read_baseline(input, baseline_file);
  const std::string numeric_class = join({classes.begin(), classes.end()}, " + ");
  const Json old = baseline["entries"].value(numeric_class, Json::object());

  Json entry{
      {"created", {{"commit", options.commit}, {"date", options.date}, {"reason", options.reason}}},
      {"fingerprint", fingerprint},
      {"arms", Json::object()},
      {"verdicts", Json::object()}};
  int changed = 0, total = 0;
  for (const auto& [key, records] : groups) {
    const RunRef& run = records.front()->run;
    Json values = Json::array();
    const auto old_group = group_of(old, run);
    for (const auto* record : records) {
      const bool diverged = record->diverged();
      values.push_back(
          {{"seed", record->run.seed},
           {"run_id", record->run.run_id},
           {"validation_loss", diverged ? Json() : record->summary.at("validation_loss")},
           {"bits", diverged ? Json("") : record->summary.at("validation_loss_bits")},
           {"steps_digest", record->summary.value("steps_digest", "")}});
      const Json* before = old_group ? value_of(*old_group, record->run.seed) : nullptr;
      changed += before == nullptr || *before != values.back();
      ++total;
    }
    std::sort(values.begin(), values.end(),
              [](const Json& a, const Json& b) { return a["seed"] < b["seed"]; });
    Json& group = entry["arms"][run.arm][run.dataset][std::to_string(run.token_budget)];
    group = statistics_of(values);
    group["values"] = values;
  }
  for (const auto& claim : claims) {
    if (claim.subject().empty()) continue;  // on published points: no run of ours can turn it
    for (const auto& dataset : claim.datasets) {
      const Verdict verdict = judge_claim(claim, evidence, dataset);
      entry["verdicts"][claim.id][dataset] = outcome_name(verdict.outcome);
      if (keeps_runs_alone(claim, verdict))
        entry["runs_alone"][claim.id][dataset] = outcome_name(verdict.statistics_say);
    }
  }
  const std::string head = baseline_file + ": class \"" + numeric_class + "\", " +
                           std::to_string(changed) + " of " +
                           count_text(static_cast<size_t>(total), "value") + " new or changed, ";
  // Whoever measured the numbers said why; a second blessing of the same ones must not say another
  // reason over it.
  if (!old.empty() && changed == 0 && total == num_values(old) &&
      old.at("verdicts") == entry["verdicts"] &&
      old.value("runs_alone", Json()) == entry.value("runs_alone", Json()))
    return head + "no verdict either: the entry is kept as it is, with its commit, date and reason";
  baseline["entries"][numeric_class] = entry;
  write_json(baseline_file, baseline);
  return head + std::to_string(baseline["entries"].size() - 1) +
         " of other classes kept. Reason: " + options.reason;
}

}  // namespace normbench
