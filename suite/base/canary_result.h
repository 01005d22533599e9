// What a canary says about a build on a machine, and whether a record from elsewhere agrees with
// it.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// `digest` hashes every bit that the canary computes; `numbers` are its losses (of a measurement
/// its values), for machines whose bits differ.
struct CanaryResult {
  std::string numeric_class, digest;
  std::vector<double> numbers;
};

/// Keys "numeric_class", "numeric_digest" and "canary_numbers" of a manifest, or of a remembered
/// canary.
void write_canary(const CanaryResult& canary, Json& json);
CanaryResult read_canary(const Json& json);

/// Does a record with this manifest still speak for a build whose canary is `today`? Empty when it
/// does; else why not. In one numeric class the bits must be equal. Between classes the libraries
/// round differently, so the canary's numbers must agree to 1e-4: rounding moves 20 steps at micro
/// size by some 1e-6, and a change of an equation that moves them by less than 1e-4 is a hundred
/// times below the noise of a seed. A record without numbers (written before there were any) cannot
/// be shown to be stale.
std::string staleness(const Json& manifest, const CanaryResult& today);

}  // namespace normbench
