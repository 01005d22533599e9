#pragma once

#include <string>

namespace normbench {

/// Writes registry.json: what the torch-free planner needs to know of models, optimizers and
/// schedules.
void write_registry(const std::string& file);

}  // namespace normbench
