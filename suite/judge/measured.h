// What a measurement's record holds, by name: rules read it through here, so that a name in a claim
// that no record knows is an error with the nearest known one.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/claim.h"

namespace normbench {

/// summary["values"][name]. Throws UserError when there is none.
double measured_value(const Claim& claim, const Record& record, const std::string& name);

/// Columns x and y of the rows that fit `where`. Throws UserError: an unknown column, no such row,
/// fewer than 2 different x, a number that is not above 0 and so has no logarithm.
struct Columns {
  std::vector<double> x, y;
};
Columns measured_columns(const Claim& claim, const Record& record);

/// The usable records of the claim's measurement, by seed.
std::vector<const Record*> measured_records(const Claim& claim, const Evidence& evidence);

/// A seed's row for the reader: "seed 3: 1.2e-16".
std::string seed_fact(int64_t seed, double value);

}  // namespace normbench
