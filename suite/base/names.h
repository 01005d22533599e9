// Names in files: what one may look like, and whether it is one of those that are known.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// Letters, digits, '_', '-' and '.', the first one a letter or a digit: what becomes part of a
/// CTest name, of an option and of a JSON key without a quote, bracket, slash or leading dash that
/// one of them would read otherwise.
bool is_plain_name(const std::string& name);

/// Throws UserError `what`, with all known names and the nearest one, unless `name` is known.
void require_known(const JsonObject& object, const std::string& key, const std::string& what,
                   const std::string& name, const std::vector<std::string>& known);

}  // namespace normbench
