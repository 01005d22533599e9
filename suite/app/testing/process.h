// Starts our own programs in tests, as a person would, and looks at what they print and how they
// end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "suite/base/testing/temporary_folder.h"

namespace normbench::testing {

struct ProcessResult {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err;
};

/// Runs to the end. `directory`: where it is started.
ProcessResult run_program(const std::vector<std::string>& arguments,
                          const std::string& directory = ".");

/// Starts without waiting, output to /dev/null.
pid_t start_program(const std::vector<std::string>& arguments, const std::string& directory = ".");
/// Waits for it. Exit code, or -signal.
int wait_for(pid_t pid);

}  // namespace normbench::testing
