// What the probes of runs saw (suite/train/probes.h), for the ledger.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/evidence.h"

namespace normbench {

/// One entry for each arm and setting whose runs have probes, from the longest runs: {arm, dataset,
/// budget, n, at_start, after, after_of_seeds}; at_start and after are the means over seeds of
/// every number, in the shape of the records (a hole where a seed has one), after_of_seeds what
/// each seed says where a probe is a single number: runs of two kinds have a mean that none of them
/// is near.
Json probes_json(const Evidence& evidence);

/// A line for each number or list of an entry: after training (with what each seed says of a single
/// number), and before it.
std::vector<std::string> probe_facts(const Json& entry);

}  // namespace normbench
