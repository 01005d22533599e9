#include "suite/app/command_line.h"

#include "suite/base/json.h"
#include "suite/base/names.h"

namespace normbench {

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
