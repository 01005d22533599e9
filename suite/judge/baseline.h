// Reads a committed baseline, strictly: what the gate then takes from it has the type that it
// takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "suite/base/json.h"
#include "suite/judge/input.h"
#include "suite/judge/outcome.h"

namespace normbench {

constexpr const char* kBaselineSchema = "normbench-baseline-1";

/// Throws UserError, with file and place, when the file is not the baseline of this table and tier,
/// or a key of an entry is missing, unknown or of a wrong type. Placeholders (no entries; groups
/// without values) are read.
Json read_baseline(const JudgeInput& input, const std::string& file);

/// {n, mean, s} of the values of a group, for the reader of the file: the gate reads the values.
/// mean is null when all diverged, s is 0 below two losses.
Json statistics_of(const Json& values);

/// One arm, dataset and budget of an entry.
struct CommittedGroup {
  int n = 0;
  Json values;
};
/// Of a run's place; nothing when the entry holds none or a placeholder.
std::optional<CommittedGroup> group_of(const Json& entry, const RunRef& run);
/// The value of a seed, or null.
const Json* value_of(const CommittedGroup& group, int64_t seed);
/// Of all groups of an entry.
int num_values(const Json& entry);

/// Whether the entry of this class, or, for a class without one, any entry keeps what runs alone
/// say; those that are older than this rule do not.
bool has_runs_alone(const Json& entries, const std::string& numeric_class);
/// `of` is "verdicts" or "runs_alone": what the entry of this class holds of a claim on a dataset;
/// for a class without an entry the lowest of what the entries hold. Nothing where none does.
std::optional<Outcome> committed_outcome(const Json& entries, const std::string& numeric_class,
                                         const std::string& of, const std::string& claim,
                                         const std::string& dataset);

}  // namespace normbench
