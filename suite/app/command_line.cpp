#include "suite/app/command_line.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "suite/base/json.h"
#include "suite/base/names.h"

namespace normbench {

CLI::Validator number_within(const Json& limit) {
  const auto check = [limit](const std::string& text) -> std::string {
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    // What is no number is beyond every limit, as NaN is.
    if (text.empty() || *end != '\0' || !std::isfinite(value))
      value = std::numeric_limits<double>::quiet_NaN();
    const auto fault = limit_fault(limit, value);
    return fault ? "found: \"" + text + "\"; expected: a number, " + fault->expected : "";
  };
  return CLI::Validator(check, "", "number");
}

CLI::Validator whole_number_within(int64_t least, int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto value = whole_number(text);
    if (value && least <= *value && *value <= most) return "";
    return "found: \"" + text + "\"; expected: a whole number from " + std::to_string(least) +
           " to " + std::to_string(most);
  };
  return CLI::Validator(check, "", "whole number");
}

void refuse_unknown_command(const CLI::App& app) {
  const CLI::App* last = &app;  // the innermost command that was found
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  std::vector<std::string> known;
  for (const auto* command : last->get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  if (known.empty()) return;
  for (const auto& argument : last->remaining()) {
    if (argument.starts_with('-')) continue;
    throw UserError(
        {.what = "unknown command of " + last->get_name(),
         .found = "\"" + argument + "\"",
         .expected = one_of(known),
         .todo = did_you_mean(argument, known, last->get_name() + " --help says what each does")});
  }
}

}  // namespace normbench
