#pragma once

#include <string>

namespace normbench {

/// Does $NORMBENCH_REQUIRE ("gpu", "data", "gpu,data") ask for it? Then what would be skipped is an
/// error, so that a runner with a broken driver is not green.
bool is_required(const std::string& what);

}  // namespace normbench
