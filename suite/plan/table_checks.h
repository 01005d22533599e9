// What a table file must keep beyond its keys and their types, so that a slip is an error of
// `normbench plan` and not of a run, hours later. Every function throws UserError with file and
// path. Inside plan only.
#pragma once

#include "suite/plan/table.h"

namespace normbench {

/// A name that stands in names of runs and CTest tests, in file names and on command lines:
/// letters, digits, '_', '-' and '.', the first one a letter or digit, 100 at most. `key`: where it
/// stands;
/// "" where it is the object's own.
void check_name(const JsonObject& object, const std::string& key, const std::string& name);

/// Values of one setting: known size and arms, positive rates and limits, whole steps and batches,
/// counts that no product of two overflows, no seed, budget or rate twice, disjoint seeds of sweep
/// and verdict, something to train.
void check_setting(const JsonObject& object, const Setting& setting, const Table& table,
                   const Json& sizes);

/// Device, precision, threads, the arms without tuned rates, the numbers of the power statement,
/// something to run.
void check_tier(const JsonObject& object, const Tier& tier, const Table& table);

/// Seeds of a setting, a sweep or a measurement: one or more, each once, none negative.
void check_seeds(const JsonObject& object, const std::string& key,
                 const std::vector<int64_t>& seeds);

/// What the claims of a table that was read name: its arms, measurements, settings and tiers, and
/// that each tier runs the arms and measurements of its claims. A claim that names something else
/// would vanish without a word. What a rule needs is the judge's
/// matter (suite/judge/claim.h).
void check_claims(const JsonObject& object, const Table& table);

/// `source`, `deviations` and `not_tested`: the texts that a ledger prints.
void check_texts(const JsonObject& object);

}  // namespace normbench
