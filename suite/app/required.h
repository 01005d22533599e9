#pragma once

#include <string>

namespace normbench {

/// Does $NORMBENCH_REQUIRE ("gpu", "data", "baseline", or several with commas) ask for it? Then
/// what would be skipped is an error, so that a runner with a broken driver is not green.
bool is_required(const std::string& what);

/// Throws UserError when $NORMBENCH_REQUIRE holds another word: a typo would switch the error off.
void check_required_words();

}  // namespace normbench
