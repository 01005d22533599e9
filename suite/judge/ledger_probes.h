// What the probes of runs saw (suite/train/probes.h), for the ledger.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/evidence.h"

namespace normbench {

/// One entry for each arm and setting whose runs have probes, from the longest runs: {arm, dataset,
/// budget, n, at_start, after}; the last two are the means over seeds of every number, in the shape
/// of the records (a hole where a seed has one).
Json probes_json(const Evidence& evidence);

/// A line for each list of numbers of an entry: after training, and before it.
std::vector<std::string> probe_facts(const Json& entry);

}  // namespace normbench
