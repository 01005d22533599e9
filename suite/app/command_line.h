// What CLI11 leaves to us: empty values, ranges of numbers, unknown commands.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

#include "suite/base/limits.h"

namespace normbench {

/// For every option that takes text: an empty value (a variable that is not set, in a script) would
/// select everything, and everything of this project takes years.
inline const CLI::Validator kNotEmpty(
    [](const std::string& text) -> std::string {
      return text.empty() ? "found: \"\"; expected: a value, or no such option" : "";
    },
    "", "not empty");

/// For an option that names a file to write: a folder is refused before anything is read.
inline const CLI::Validator kFileToWrite(
    [](const std::string& text) -> std::string {
      std::error_code unreadable;
      if (std::filesystem::is_directory(text, unreadable))
        return "found: the folder \"" + text + "\"; expected: a file to write";
      return kNotEmpty(text);
    },
    "", "file to write");

/// For an option that takes a number: finite, and within a limit of limits.h. CLI11's own ranges
/// spell the largest double in 300 digits.
CLI::Validator number_within(const Json& limit);

/// For an option that takes a whole number, both ends included. CLI11 reads what no int64_t holds
/// as the largest one, and "010" as 8: only the plain spelling is taken.
CLI::Validator whole_number_within(int64_t least, int64_t most);
/// Timed steps of `throughput`: days of any model.
inline const CLI::Validator kTimedSteps = whole_number_within(1, 1'000'000);

/// What CLI11 could not place and is an option or stands for a command, "--teir" of `normbench plan
/// --teir smoke` or "frobnicate" of `normbench data frobnicate`: throws UserError with the nearest
/// option or command.
void refuse_unknown_words(const CLI::App& app);

}  // namespace normbench
