#pragma once

#include <functional>

#include "suite/base/errors.h"

namespace normbench {

/// Runs a main function's body. An exception becomes one message on standard error and its exit
/// code: UserError 2, MachineError 3, Interrupted 130, anything else (a bug) 70.
int exit_code_of(const std::function<int()>& body);

}  // namespace normbench
