#pragma once

#include <functional>

#include "suite/base/errors.h"

namespace normbench {

/// Runs a main function's body. An exception becomes one message on standard error and its exit
/// code: UserError 2, MachineError and what the system refuses 3 (output that cannot be written
/// too), Interrupted 130, anything else (a bug) 70.
int exit_code_of(const std::function<int()>& body);

}  // namespace normbench
