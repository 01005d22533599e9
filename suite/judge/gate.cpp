#include "suite/judge/gate.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "suite/base/files.h"
#include "suite/base/text.h"
#include "suite/judge/baseline.h"
#include "suite/judge/claim.h"
#include "suite/judge/gate_noise.h"

namespace normbench {
namespace {

CheckResult red(const std::string& text) { return {CheckResult::Color::kRed, text}; }

// `unusable`: whether a record is among the faults. Then there are no new numbers to bless yet.
CheckResult red(std::string text, const std::vector<std::string>& faults, bool unusable,
                const JudgeInput& input) {
  for (const auto& fault : faults) text += "\n  * " + fault;
  if (!unusable) text += "\n  If the new numbers are right:  " + bless_command(input);
  return red(text);
}

bool is_absent(const Record& record) { return record.state == RecordState::kAbsent; }

std::string to_do(const Record& record, const std::string& runs_folder) {
  const std::string folder = runs_folder + "/" + record.run.run_id;
  return is_absent(record)
             ? "run it: ctest -R '^" + record.run.name + "$'"
             : "delete " + folder + " and run it again: ctest -R '^" + record.run.name + "$'";
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
    std::optional<CommittedGroup> group;
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
      const auto committed =
          committed_outcome(entries, numeric_class, "verdicts", claim.id, dataset);
      if (!committed) {
        faults.push_back("claim " + claim.id + " on " + dataset +
                         ": the baseline holds no verdict");
        continue;
      }
      const Verdict now = judge_claim(claim, evidence, dataset);
      const auto alone = committed_outcome(entries, numeric_class, "runs_alone", claim.id, dataset);
      const std::string line =
          "claim " + claim.id + " on " + dataset + ": now " + outcome_name(now.outcome) +
          ", committed " + outcome_name(*committed) +
          (alone ? " (of the runs alone: " + std::string(outcome_name(*alone)) + ")" : "");
      for (const Record* record : records_of(claim, evidence, dataset))
        there += !is_absent(*record);
      unusable = unusable || !now.missing.empty();
      if (!now.missing.empty())
        faults.push_back(line + "; " + now.missing.front());
      else if (falls_below(now.outcome, *committed) ||
               (alone && keeps_runs_alone(claim, now) && falls_below(now.statistics_say, *alone)))
        faults.push_back(line + "\n    " + now.reason);
      else if (!alone && keeps_runs_alone(claim, now) && has_runs_alone(entries, numeric_class))
        faults.push_back(line + "; the baseline does not hold what the runs alone say");
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

std::string run_all_command(const JudgeInput& input) {
  return "./run_all.sh --tier " + input.tier + " --only " + input.paper + "." + input.table;
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

}  // namespace normbench
