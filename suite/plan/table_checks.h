// What a table file must keep beyond its keys and their types, so that a slip is an error of
// `normbench plan` and not of a run, hours later. Every function throws UserError with file and
// path. Inside plan only.
#pragma once

#include "suite/plan/table.h"

namespace normbench {

/// Values of one setting: known size and arms, positive rates and limits, whole steps and batches,
/// no seed, budget or rate twice, disjoint seeds of sweep and verdict.
void check_setting(const JsonObject& object, const Setting& setting, const Table& table,
                   const Json& sizes);

/// Device, precision, threads and the numbers of the power statement.
void check_tier(const JsonObject& object, const Tier& tier);

/// Seeds of a setting, a sweep or a measurement: one or more, each once, none negative.
void check_seeds(const JsonObject& object, const std::string& key,
                 const std::vector<int64_t>& seeds);

/// What the claims of a table that was read name: its arms, measurements, settings and tiers. A
/// claim that names something else would vanish without a word. What a rule needs is the judge's
/// matter (suite/judge/claim.h).
void check_claims(const JsonObject& object, const Table& table);

/// `source`, `deviations` and `not_tested`: the texts that a ledger prints.
void check_texts(const JsonObject& object);

}  // namespace normbench
