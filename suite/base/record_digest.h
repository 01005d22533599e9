// The two hashes that tie a run record together. The trainer seals with them, the judge checks with
// them.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// First 16 hexadecimal digits of xxh3_hex(canonical(config)): the name of a run and of its folder.
std::string run_id_of(const Json& config);

/// xxh3_hex over: canonical(manifest) "\n", every step line as written followed by "\n", and
/// canonical(summary) without the key "record_digest". Any edited byte of the record's meaning
/// changes it.
std::string record_digest(const Json& manifest, const std::vector<std::string>& step_lines,
                          const Json& summary);

/// `summary` with its "record_digest" set: the last thing a run writes.
Json sealed_summary(const Json& manifest, const std::vector<std::string>& step_lines, Json summary);

/// The bits of a double as 16 hexadecimal digits: "equal" then means equal to the last bit.
std::string double_bits(double value);

}  // namespace normbench
