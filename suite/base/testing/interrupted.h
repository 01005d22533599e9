// For EXPECT_EXIT: does long work hear a signal?
#pragma once

#include <csignal>
#include <cstdlib>

#include "suite/base/errors.h"
#include "suite/base/interrupt.h"

namespace normbench::testing {

/// Exit code kExitInterrupted when `work` ends with a SIGINT that came before it, 0 when it
/// swallows it.
template <class Work>
[[noreturn]] void run_after_a_signal(Work work) {
  install_interrupt_handler();
  std::raise(SIGINT);
  try {
    work();
  } catch (const Interrupted&) {
    std::_Exit(kExitInterrupted);
  }
  std::_Exit(kExitOk);
}

}  // namespace normbench::testing
