// What CLI11 leaves to us: empty values and unknown commands.
#pragma once

#include <CLI/CLI.hpp>

namespace normbench {

/// For every option that takes text: an empty value (a variable that is not set, in a script) would
/// select everything, and everything of this project takes years.
inline const CLI::Validator kNotEmpty(
    [](const std::string& text) -> std::string {
      return text.empty() ? "found: \"\"; expected: a value, or no such option" : "";
    },
    "", "not empty");

/// "plan" and "frobnicate" for `normbench plan` and `normbench data frobnicate`: throws UserError
/// with the nearest command when an argument stands where a command is wanted and none was found.
void refuse_unknown_command(const CLI::App& app);

}  // namespace normbench
