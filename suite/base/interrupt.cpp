#include "suite/base/interrupt.h"

#include <csignal>

#include "suite/base/errors.h"

namespace normbench {
namespace {
volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int signal) {
  g_interrupted = 1;
  std::signal(signal, SIG_DFL);
}
}  // namespace

void install_interrupt_handler() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupted() { return g_interrupted != 0; }

void stop_if_interrupted() {
  if (interrupted())
    throw Interrupted(
        "interrupted; what was finished is kept, the same command goes on from there");
}

}  // namespace normbench
