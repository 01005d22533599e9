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

namespace {

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* known : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  return names;
}

}  // namespace

void refuse_unknown_words(const CLI::App& app) {
  const auto commands = commands_of(app);
  for (const auto& word : app.remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("-"))
      throw UserError({.what = "unknown option of " + app.get_name(),
                       .found = "\"" + name + "\"",
                       .todo = did_you_mean(name, options_of(app),
                                            app.get_name() + " --help lists its options")});
    if (commands.empty()) continue;  // the value of an unknown option, which comes after it
    throw UserError(
        {.what = "unknown command of " + app.get_name(),
         .found = "\"" + word + "\"",
         .expected = one_of(commands),
         .todo = did_you_mean(word, commands, app.get_name() + " --help says what each does")});
  }
  for (const auto* command : app.get_subcommands()) refuse_unknown_words(*command);
}

}  // namespace normbench
