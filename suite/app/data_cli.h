#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "suite/app/project.h"

namespace normbench {

/// `normbench data list | prepare | verify`. `code` receives the exit code.
void add_data_command(CLI::App& app, const std::function<Project()>& project, int& code);

}  // namespace normbench
