// The one way to fail. Only suite/app prints and exits; everything below throws.
#pragma once

#include <stdexcept>
#include <string>

namespace normbench {

enum ExitCode : int {
  kExitOk = 0,
  kExitCheckRed = 1,  // a gate is red
  kExitWrongUse = 2,  // bad option, file or data: UserError
  kExitMachine = 3,   // disk full, no device, lost peer: MachineError
  kExitSkipped = 77,  // CTest's SKIP_RETURN_CODE
  kExitInterrupted = 130,
};

/// What a message must say: what went wrong, where, what was found, what was expected, what to do.
/// Empty fields are left out of the text.
struct ErrorText {
  std::string what;
  std::string where = {};
  std::string found = {};
  std::string expected = {};
  std::string todo = {};
  std::string str() const;
};

/// Bad file, option or data. Exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const ErrorText& text) : std::runtime_error(text.str()) {}
};

/// The machine cannot do it: disk full, folder not writable, no device. Exit code 3.
class MachineError : public std::runtime_error {
 public:
  explicit MachineError(const ErrorText& text) : std::runtime_error(text.str()) {}
};

/// SIGINT or SIGTERM arrived and the work was left in a state that the next call continues. Exit
/// code 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& values);

/// A broken invariant, our bug: always on, with the values that broke it.
#define NORMBENCH_CHECK(condition, values)                                               \
  do {                                                                                   \
    if (!(condition)) ::normbench::check_failed(#condition, __FILE__, __LINE__, values); \
  } while (false)

}  // namespace normbench
