// SIGINT and SIGTERM set a flag; long work looks at it between steps, saves what it has and stops.
// A second signal kills.
#pragma once

namespace normbench {

/// Called once by a main function.
void install_interrupt_handler();
bool interrupted();
/// Throws Interrupted when the flag is set.
void stop_if_interrupted();

}  // namespace normbench
