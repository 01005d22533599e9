// Reads a committed baseline, strictly: what the gate then takes from it has the type that it
// takes.
#pragma once

#include <string>

#include "suite/base/json.h"
#include "suite/judge/input.h"

namespace normbench {

constexpr const char* kBaselineSchema = "normbench-baseline-1";

/// Throws UserError, with file and place, when the file is not the baseline of this table and tier,
/// or a key of an entry is missing, unknown or of a wrong type. Placeholders (no entries; groups
/// without values) are read.
Json read_baseline(const JudgeInput& input, const std::string& file);

}  // namespace normbench
