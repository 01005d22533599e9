#pragma once

#include <string>

namespace normbench {

/// Builds the model of every arm in `file`, of its own size but without memory, and its optimiser,
/// at micro size: what only these two know of their options together is found before anything
/// trains. The file is a list of {"arm": where it stands, "config": a run's, "canary": its
/// canary's}. Throws UserError, which names the arm. Exit code.
int worker_arms(const std::string& file);

}  // namespace normbench
