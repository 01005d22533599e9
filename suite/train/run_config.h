// A resolved configuration, read strictly: everything that can change a loss, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "suite/base/json.h"

namespace normbench {

struct RunConfig {
  std::string model, optimizer, schedule, dataset, train_digest, validation_digest, precision,
      device;
  Json model_options, optimizer_options, schedule_options;
  ModelSize size;
  double peak_lr = 0, clip_norm = 0, loss_above = 0;
  int64_t token_budget = 0, batch_sequences = 0, micro_batch_sequences = 0, validation_tokens = 0,
          threads = 1, seed = 0;
  std::vector<std::string> probes;  // suite/train/probes.h

  int64_t tokens_per_step() const { return batch_sequences * size.context; }
  int64_t num_steps() const { return token_budget / tokens_per_step(); }
};

/// Throws UserError on an unknown or missing key, or on values that do not fit together. `file`
/// names it in messages.
RunConfig read_run_config(const Json& json, const std::string& file);

}  // namespace normbench
