// Checkpoints: one safetensors file with weights, optimiser state and step, written to a temporary
// name, synced, renamed; the last two are kept. What a resumed run needs to go on with the same
// bits.
#pragma once

#include <torch/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "suite/ops/parameter_group.h"

namespace normbench {

struct CheckpointProgress {
  int64_t step = 0;          // optimiser steps done
  double seconds_train = 0;  // over all sessions
  int64_t sessions = 1;
};

/// Writes <folder>/checkpoint_<step>.safetensors and removes all but the last two.
void save_checkpoint(const std::string& folder, const std::string& run_id,
                     const CheckpointProgress& progress, const std::vector<ParameterGroup>& weights,
                     const Optimizer& optimizer);

/// Loads the newest whole checkpoint of this run, not beyond step `max_step` (what the step stream
/// holds), into weights and optimiser; none: returns nothing. A cut, damaged or unfitting file is
/// passed over with a warning and leaves both as they were; the one before it is taken.
std::optional<CheckpointProgress> load_newest_checkpoint(const std::string& folder,
                                                         const std::string& run_id,
                                                         int64_t max_step,
                                                         std::vector<ParameterGroup>& weights,
                                                         Optimizer& optimizer);

void remove_checkpoints(const std::string& folder);

}  // namespace normbench
