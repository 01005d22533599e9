// Names in files: what one may look like, and whether it is one of those that are known.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// kPlainName in code: what becomes part of a CTest name, of an option, of a JSON key and of a
/// folder's name without a quote, bracket, slash or leading dash that one of them would read
/// otherwise.
bool is_plain_name(const std::string& name);
inline constexpr const char* kPlainName =
    "at most 100 letters, digits, '_', '-' and '.', the first one a letter or digit";

bool is_one_of(const std::string& name, const std::vector<std::string>& known);
/// "one of: angpt, ngpt"; empty when nothing is known.
std::string one_of(const std::vector<std::string>& known);
/// "did you mean "ngpt"?", the known name at the smallest edit distance; `otherwise` when none is
/// near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known,
                         const std::string& otherwise = "");

/// Throws UserError `what`, with all known names and the nearest one, unless `name` is known.
void require_known(const JsonObject& object, const std::string& key, const std::string& what,
                   const std::string& name, const std::vector<std::string>& known);

}  // namespace normbench
