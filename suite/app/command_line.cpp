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

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

/// What to do about an option that `command` does not have.
std::string hint(const CLI::App& command, const std::string& option) {
  for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent())
    if (is_one_of(option, options_of(*above)))
      return "it stands before the command, as in " + above->get_name() + " " + option + " ... " +
             command.get_name();
  for (const CLI::App* below : commands_of(command))
    if (is_one_of(option, options_of(*below)))
      return "it stands after the command, as in " + command.get_name() + " " + below->get_name() +
             " " + option;
  return did_you_mean(option, options_of(command),
                      command.get_name() + " --help lists its options");
}

}  // namespace

void refuse_unknown_words(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const auto* command : commands_of(app)) commands.push_back(command->get_name());
  for (const auto& word : app.remaining()) {
    if (word == "--" || word == "-") continue;
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("-"))
      throw UserError({.what = "unknown option of " + app.get_name(),
                       .found = "\"" + name + "\"",
                       .todo = hint(app, name)});
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
