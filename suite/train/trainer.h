// The only training loop.
#pragma once

#include <functional>
#include <string>

#include "data/batches.h"
#include "suite/base/canary_result.h"
#include "suite/dist/communicator.h"
#include "suite/train/fingerprint.h"
#include "suite/train/run_config.h"

namespace normbench {

/// What changes how a run is carried out, but none of its bits.
struct RunOptions {
  Fingerprint fingerprint;  // of this machine, taken after fix_arithmetic()
  std::string runs_folder = "results/runs";
  std::string name;                // for the record and the progress line
  CanaryResult canary;             // of this arm, in this build on this machine
  double checkpoint_seconds = 30;  // at most this much work is lost by a kill; 0: after every step
  bool keep_checkpoints = false;   // also after the run is finished
};

enum class RunResult { kReused, kFinished, kDiverged };

/// Trains `config` to its token budget and writes the record. A finished record of the same id,
/// numeric digest and numeric class is reused; a half-finished one is resumed from its last
/// checkpoint; a stale one is done anew. Step t = 1..N: gradients of the micro-batches are summed,
/// clipped by global norm, the optimiser steps with lr(t), the constraint is imposed. A non-finite
/// loss or gradient norm, a loss above the limit, or a non-finite validation loss at the end is
/// divergence: a result. Throws UserError (bad configuration or data), MachineError, Interrupted:
/// after a checkpoint, or in the validation at the end, which leaves the last one, at most
/// checkpoint_seconds old.
RunResult train_run(const Json& config, const TokenSource& source, Communicator& communicator,
                    const RunOptions& options);

/// A model with its optimiser, as a configuration asks for.
struct Training {
  std::shared_ptr<Model> model;
  std::vector<ParameterGroup> groups;
  /// Everything of the model that a step can change: the groups, then its buffers (the correction
  /// bias of a router), which have no gradient. What a checkpoint holds and a digest covers.
  std::vector<ParameterGroup> state;
  std::unique_ptr<class Optimizer> optimizer;
  std::function<double(int64_t)> learning_rate;
  torch::Device device = torch::kCPU;

  explicit Training(const RunConfig& config);
  ~Training();
  Training(Training&&) noexcept;
  int64_t num_parameters() const;
};

struct StepResult {
  float loss = 0;       // mean over the global batch, nats per token
  float grad_norm = 0;  // before clipping
  bool diverged = false;
};

/// One optimiser step `t` (1-based) on the tokens of that step.
StepResult train_step(Training& training, const RunConfig& config, const Batches& batches,
                      Communicator& communicator, int64_t t);

}  // namespace normbench
