// Reads one run record and says whether it may be believed. Everything that judge knows about a run
// comes through here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/input.h"

namespace normbench {

enum class RecordState {
  kFinished,  // whole, sealed, current
  kDiverged,  // the same, and the run's result is that it diverged
  kAbsent,    // no folder, or no summary yet
  kDamaged,   // edited, cut, swapped, or of another run
  kStale,     // whole, but the arm computes something else today (numeric digest)
};
const char* record_state_name(RecordState state);

struct Record {
  RunRef run;
  RecordState state = RecordState::kAbsent;
  std::string reason;  // one sentence, for every state but the first two
  Json manifest, summary;
  std::vector<std::string> step_lines;

  bool usable() const { return state == RecordState::kFinished || state == RecordState::kDiverged; }
  bool diverged() const { return state == RecordState::kDiverged; }
  /// Nats per token on the frozen slice; infinity for a diverged run. Needs usable().
  double validation_loss() const;
  std::string numeric_class() const;
  bool is_measurement() const { return !run.task.empty(); }
};

/// "<run> is damaged: <reason>", for a record that is not usable.
std::string unusable_text(const Record& record);

/// Loads <runs_folder>/<run_id> and checks: schema; run id of folder, manifest, summary and hash of
/// the configuration are one; seed, budget, dataset and rate of the configuration are the planned
/// ones; every step line from 1 to the last is there, and the last one stands at the budget; the
/// record digest. Of a measurement: task and seed are the planned ones, rows 1 to the last are
/// there, its values are numbers. `canary`: that of the arm today; none = unknown, then
/// staleness is not judged. Never throws for a bad record: the state says it.
Record load_record(const std::string& runs_folder, const RunRef& run,
                   const std::optional<CanaryResult>& canary);

/// Loads many, and demotes to damaged what cannot be true together: two seeds with the same steps
/// digest are one run and a copy of it; a run planned twice. `canaries`: by RunRef::canary.
std::vector<Record> load_records(const std::string& runs_folder, const std::vector<RunRef>& runs,
                                 const std::map<std::string, CanaryResult>& canaries);

/// `"loss":` of one canonical step line, without parsing the rest (a table has some 10^5 lines).
double number_in_line(const std::string& line, const std::string& key);

}  // namespace normbench
