// What a table may ask a run to look at, beyond its losses ("probes" of an arm). One forward pass
// after training, or a few small numbers on the way; off unless asked for.
#pragma once

#include <string>
#include <vector>

#include "data/batches.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "suite/base/json.h"

namespace normbench {

/// Known probes, sorted:
///   branch_ratio           mean ||branch output|| / mean ||branch input||, by layer (Table N.1 of
///                          arXiv 2505.22014); input: what the first matrix reads, output: what the
///                          last one writes, before any norm of it
///   copying                loss in nats per token of the first half of validation windows, of the
///                          same tokens where that half stands a second time (a model that copies
///                          has almost none), and of the half that follows it in the text; Olsson
///                          et al., arXiv 2209.11895, with text in place of random tokens
///   model                  the model's own diagnostics (mean step sizes, router load, ...), also
///                          on the way, in 20 of the step lines
///   optimizer              the optimiser's own (share of capped rows, ...), in the same lines
///   residual_norm          mean and standard deviation over tokens of ||h|| after each block
///                          (Table O.1, Figure 1), on the first validation windows
///   residual_norm_repeated the same on windows of one token repeated (Table O.1)
///   row_norm               mean norm of the rows of every matrix, along the input (Figure P.1)
const std::vector<std::string>& known_probes();

/// By probe. A number that is not finite is null. Throws UserError for a probe that this model has
/// nothing to say on.
Json probe(Model& model, const Optimizer& optimizer, const std::vector<std::string>& probes,
           const Batch& batch, torch::Device device);

/// The same of a model that no step has touched. Throws UserError for a number that is not finite:
/// what is broken there would be broken in the whole record.
Json probe_at_start(Model& model, const Optimizer& optimizer,
                    const std::vector<std::string>& probes, const Batch& batch,
                    torch::Device device);

/// For a step line: the diagnostics of model and optimiser, as far as `probes` asks for them.
Json step_diagnostics(Model& model, const Optimizer& optimizer,
                      const std::vector<std::string>& probes);

}  // namespace normbench
