#include "suite/judge/gate.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "suite/base/files.h"
#include "suite/base/text.h"
#include "suite/judge/baseline.h"
#include "suite/judge/claim.h"
#include "suite/judge/gate_noise.h"

namespace normbench {
namespace {

CheckResult red(const std::string& text) { return {CheckResult::Color::kRed, text}; }

std::string run_all_command(const JudgeInput& input) {
  return "./run_all.sh --tier " + input.tier + " --only " + input.paper + "." + input.table;
}

// `unusable`: whether a record is among the faults. Then there are no new numbers to bless yet.
CheckResult red(std::string text, const std::vector<std::string>& faults, bool unusable,
                const JudgeInput& input) {
  for (const auto& fault : faults) text += "\n  * " + fault;
  if (!unusable) text += "\n  If the new numbers are right:  " + bless_command(input);
  return red(text);
}

std::string unusable_text(const Record& record) {
  return record.run.name + " is " + record_state_name(record.state) + ": " + record.reason;
}

bool is_absent(const Record& record) { return record.state == RecordState::kAbsent; }

std::string to_do(const Record& record, const std::string& runs_folder) {
  const std::string folder = runs_folder + "/" + record.run.run_id;
  return is_absent(record)
             ? "run it: ctest -R '^" + record.run.name + "$'"
             : "delete " + folder + " and run it again: ctest -R '^" + record.run.name + "$'";
}

struct Group {  // one arm, dataset and budget of an entry
  int n = 0;
  Json values;  // mean and s stand in the file for the reader; they are recomputed from these
};

// Empty when the entry holds nothing for it.
std::optional<Group> group_of(const Json& entry, const RunRef& run) {
  const Json* at = &entry;
  for (const std::string& key :
       {std::string("arms"), run.arm, run.dataset, std::to_string(run.token_budget)}) {
    if (!at->is_object() || !at->contains(key)) return std::nullopt;
    at = &(*at)[key];
  }
  Group group{at->value("n", 0), at->value("values", Json::array())};
  if (group.n <= 0 || group.values.size() != static_cast<size_t>(group.n))
    return std::nullopt;  // a placeholder
  return group;
}

const Json* value_of(const Group& group, int64_t seed) {
  for (const auto& value : group.values)
    if (value.value("seed", Json()) == seed) return &value;
  return nullptr;
}

int num_values(const Json& entry) {
  size_t n = 0;
  for (const auto& arm : entry.value("arms", Json::object()))
    for (const auto& dataset : arm)
      for (const auto& group : dataset) n += group.at("values").size();
  return static_cast<int>(n);
}

std::string place(const RunRef& run) {
  return run.arm + ", " + run.dataset + ", " + tokens_text(static_cast<double>(run.token_budget)) +
         ", seed " + std::to_string(run.seed);
}

std::string loss_text(const Json& value) {
  return value.is_number() ? fixed(value.get<double>(), 6)
         : value.is_null() ? "diverged"
                           : value.dump();
}

CheckResult check_losses(const JudgeInput& input, const std::string& runs_folder,
                         const Json& baseline, const std::string& baseline_file,
                         const std::string& arm, size_t family) {
  std::vector<RunRef> planned;
  for (const auto& run : input.runs)
    if (run.arm == arm) planned.push_back(run);
  const auto runs = load_records(runs_folder, planned, input.canaries);
  if (!runs.empty() && std::all_of(runs.begin(), runs.end(), is_absent))
    return red("RED  there are no records of " + arm + " to compare with " + baseline_file +
               "\n  absent: " + count_text(runs.size(), "run") +
               "; the first: " + runs.front().run.name + ", " + runs.front().reason +
               "\n  to do: " + run_all_command(input));
  std::vector<std::string> faults;
  Drifts others;
  int exact = 0;
  bool unusable = false;
  const Json& entries = baseline["entries"];
  std::set<std::string> classes;
  for (const auto& record : runs) {
    if (!record.usable()) {
      unusable = true;
      faults.push_back(unusable_text(record) + "\n    to do: " + to_do(record, runs_folder));
      continue;
    }
    const std::string numeric_class = record.numeric_class();
    classes.insert(numeric_class);
    const bool same_class = entries.contains(numeric_class);
    // For another class the entry with most values for this place speaks.
    std::optional<Group> group;
    std::string entry_name = numeric_class;
    if (same_class) {
      group = group_of(entries[numeric_class], record.run);
    } else {
      for (auto it = entries.begin(); it != entries.end(); ++it)
        if (auto other = group_of(it.value(), record.run);
            other && (!group || other->n > group->n)) {
          group = other;
          entry_name = it.key();
        }
    }
    if (!group) {
      faults.push_back(place(record.run) +
                       ": the baseline holds no value (absent or a placeholder)");
      continue;
    }
    const Json* committed = value_of(*group, record.run.seed);
    if (committed == nullptr) {
      faults.push_back(place(record.run) + ": the baseline holds no such seed");
      continue;
    }
    if (const auto id = committed->value("run_id", ""); id != record.run.run_id) {
      faults.push_back(place(record.run) + ": the baseline is of another configuration (run id " +
                       id + ", planned " + record.run.run_id + ")");
      continue;
    }
    const Json now = record.diverged() ? Json() : record.summary.at("validation_loss");
    const Json before = committed->value("validation_loss", Json());
    if (now.is_null() != before.is_null()) {
      faults.push_back(place(record.run) + ": now " + loss_text(now) + ", committed " +
                       loss_text(before));
      continue;
    }
    if (same_class) {
      const std::string bits = record.summary.value("validation_loss_bits", "");
      const std::string steps = record.summary.value("steps_digest", "");
      if (bits != committed->value("bits", "") || steps != committed->value("steps_digest", ""))
        faults.push_back(place(record.run) +
                         ": not the same bits in the same numeric class; loss now " +
                         loss_text(now) + " (" + bits + "), committed " + loss_text(before) + " (" +
                         committed->value("bits", "") + ")" +
                         (bits == committed->value("bits", "") ? "; the steps differ" : ""));
      else
        ++exact;
      continue;
    }
    if (now.is_null()) continue;  // diverged in both classes
    if (const auto why = others.add(record.run, now.get<double>() - before.get<double>(),
                                    group->values, entry_name, entries[entry_name]);
        !why.empty())
      faults.push_back(place(record.run) + ": " + why);
  }
  if (classes.empty() && faults.empty()) faults.push_back("the plan holds no run of arm " + arm);
  for (const auto& fault : others.faults(input.alpha, family)) faults.push_back(fault);
  if (!faults.empty())
    return red("RED  " + arm + " validation_loss disagrees with " + baseline_file +
                   (classes.empty() ? ""
                                    : "\n  class of the records: " +
                                          join({classes.begin(), classes.end()}, "; ")),
               faults, unusable, input);
  return {CheckResult::Color::kGreen,
          "green  " + arm + " validation_loss: " +
              (exact > 0 ? count_text(static_cast<size_t>(exact), "run") + " equal to the last bit"
                         : "") +
              (exact > 0 && others.num_groups() > 0 ? ", " : "") +
              (others.num_groups() == 0
                   ? ""
                   : count_text(others.num_groups(), "group") +
                         " of a class without an entry inside the prediction interval") +
              "  [" + join({classes.begin(), classes.end()}, "; ") + "]"};
}

CheckResult check_verdicts(const JudgeInput& input, const std::string& runs_folder,
                           const Json& baseline, const std::string& baseline_file,
                           const std::string& arm) {
  const Evidence evidence = Evidence::load(input, runs_folder);
  std::string numeric_class;
  for (const auto& record : evidence.basis())
    if (record.usable()) numeric_class = record.numeric_class();
  // Verdicts of this class when it has an entry; else the lowest of all entries' is what must be
  // kept.
  const Json& entries = baseline["entries"];
  std::vector<std::string> faults;
  std::string said;
  size_t there = 0;  // records that are there, whatever they say
  bool unusable = false;
  for (const auto& claim : read_claims(input)) {
    if (claim.subject() != arm) continue;
    for (const auto& dataset : claim.datasets) {
      std::optional<Outcome> committed;
      for (auto it = entries.begin(); it != entries.end(); ++it) {
        if (entries.contains(numeric_class) && it.key() != numeric_class) continue;
        const Json verdicts = it.value().value("verdicts", Json::object());
        if (!verdicts.contains(claim.id) || !verdicts[claim.id].contains(dataset)) continue;
        const Outcome outcome = outcome_from_name(verdicts[claim.id][dataset], baseline_file);
        if (!committed || falls_below(outcome, *committed)) committed = outcome;
      }
      if (!committed) {
        faults.push_back("claim " + claim.id + " on " + dataset +
                         ": the baseline holds no verdict");
        continue;
      }
      const Verdict now = judge_claim(claim, evidence, dataset);
      const std::string line = "claim " + claim.id + " on " + dataset + ": now " +
                               outcome_name(now.outcome) + ", committed " +
                               outcome_name(*committed);
      for (const Record* record : records_of(claim, evidence, dataset))
        there += !is_absent(*record);
      unusable = unusable || !now.missing.empty();
      if (!now.missing.empty())
        faults.push_back(line + "; " + now.missing.front());
      else if (falls_below(now.outcome, *committed))
        faults.push_back(line + "\n    " + now.reason);
      else
        said += "\n  " + line;
    }
  }
  if (faults.empty()) return {CheckResult::Color::kGreen, "green  " + arm + " verdict" + said};
  if (unusable && there == 0)
    return red("RED  there are no records for a verdict about " + arm + " to compare with " +
                   baseline_file + "\n  to do: " + run_all_command(input),
               faults, unusable, input);
  return red("RED  " + arm + " verdict fell below " + baseline_file, faults, unusable, input);
}

}  // namespace

std::string baseline_path(const JudgeInput& input, const std::string& baselines_folder) {
  return baselines_folder + "/measured/" + input.tier + "/" + input.paper + "." + input.table +
         ".json";
}

std::string bless_command(const JudgeInput& input) {
  return "normbench bless --tier " + input.tier + " --only " + input.paper + "." + input.table +
         " --reason \"...\"";
}

std::vector<std::string> regression_metrics(const JudgeInput& input, const std::string& arm) {
  std::vector<std::string> metrics;
  for (const auto& known : input.arms)
    if (known.name == arm) metrics.push_back("validation_loss");
  const auto claims = read_claims(input);
  if (std::any_of(claims.begin(), claims.end(), [&](auto& c) { return c.subject() == arm; }))
    metrics.push_back("verdict");
  return metrics;
}

size_t regression_family(const JudgeInput& input) {
  // Every group of losses is one test; verdicts are comparisons of words and spend no alpha.
  std::set<std::string> groups;
  for (const auto& run : input.runs)
    if (run.task.empty()) groups.insert(group_name(run));
  return groups.size();
}

CheckResult check_regression(const JudgeInput& input, const std::string& runs_folder,
                             const std::string& baseline_file, const std::string& arm,
                             const std::string& metric, size_t family) {
  const auto metrics = regression_metrics(input, arm);
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
    throw UserError({.what = "arm " + arm + " has no regression check of this metric",
                     .found = "\"" + metric + "\"",
                     .expected = join(metrics, ", ")});
  if (!std::filesystem::exists(baseline_file))
    return red("RED  there is no baseline " + baseline_file +
               "\n  An absent baseline is red, so that nothing passes unmeasured." +
               "\n  Make it from the records:  " + bless_command(input));
  Json baseline;
  try {
    baseline = read_baseline(input, baseline_file);
  } catch (const UserError& e) {
    return red(std::string("RED  ") + e.what());
  }
  if (baseline["entries"].empty())
    return red(
        "RED  " + baseline_file +
        " is a placeholder without entries\n  Make it from the records:  " + bless_command(input));
  if (metric == "verdict") return check_verdicts(input, runs_folder, baseline, baseline_file, arm);
  return check_losses(input, runs_folder, baseline, baseline_file, arm, family);
}

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
  for (const auto& claim : read_claims(input))
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
  if (!faults.empty())
    throw UserError({.what = "not a set of records that a baseline can be made of",
                     .where = what,
                     .found = std::to_string(faults.size()) + " of " +
                              count_text(evidence.basis().size(), "run") +
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
    std::vector<double> losses;
    Json values = Json::array();
    const auto old_group = group_of(old, run);
    for (const auto* record : records) {
      const bool diverged = record->diverged();
      if (!diverged) losses.push_back(record->validation_loss());
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
    entry["arms"][run.arm][run.dataset][std::to_string(run.token_budget)] = {
        {"n", values.size()},
        {"mean", losses.empty() ? Json() : Json(mean(losses))},
        {"s", losses.size() < 2 ? Json(0.0) : Json(sample_sd(losses))},
        {"values", values}};
  }
  for (const auto& claim : read_claims(input)) {
    if (claim.subject().empty()) continue;  // on published points: no run of ours can turn it
    for (const auto& dataset : claim.datasets)
      entry["verdicts"][claim.id][dataset] =
          outcome_name(judge_claim(claim, evidence, dataset).outcome);
  }
  const std::string head = baseline_file + ": class \"" + numeric_class + "\", " +
                           std::to_string(changed) + " of " +
                           count_text(static_cast<size_t>(total), "value") + " new or changed, ";
  // Whoever measured the numbers said why; a second blessing of the same ones must not say another
  // reason over it.
  if (!old.empty() && changed == 0 && total == num_values(old) &&
      old.at("verdicts") == entry["verdicts"])
    return head + "no verdict either: the entry is kept as it is, with its commit, date and reason";
  baseline["entries"][numeric_class] = entry;
  write_json(baseline_file, baseline);
  return head + std::to_string(baseline["entries"].size() - 1) +
         " of other classes kept. Reason: " + options.reason;
}

}  // namespace normbench
