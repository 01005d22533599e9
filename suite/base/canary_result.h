// What a canary says about a build on a machine, and whether a record from elsewhere agrees with
// it.
#pragma once

#include <optional>
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

/// What the program `build_id` remembers of a canary in `file`. Nothing when the file is absent, of
/// another build, or cannot be read: a canary takes seconds, and running it again mends the file.
std::optional<CanaryResult> remembered_canary(const std::string& file, const std::string& build_id);

/// Does a record with this manifest still speak for a build whose canary is `today`? Empty when it
/// does; else why not. In one numeric class the bits must be equal. Between classes the libraries
/// round differently, so the canary's numbers must agree to 1e-4: rounding moves 20 steps at micro
/// size by some 1e-6, and a change of an equation that moves them by less than 1e-4 is a hundred
/// times below the noise of a seed. A record without numbers (written before there were any) cannot
/// be shown to be stale.
std::string staleness(const Json& manifest, const CanaryResult& today);

}  // namespace normbench
