#pragma once

#include "data/batches.h"
#include "models/model.h"

namespace normbench {

/// Validation loss: mean cross-entropy in nats per token over the frozen slice. Batches are summed
/// in double in a fixed order, so the value depends on nothing but weights and slice. Throws
/// Interrupted between two batches.
double validation_loss(Model& model, const ValidationSlice& slice, int64_t sequences_per_batch,
                       torch::Device device);

/// Token ids of a batch as inputs and targets, [sequences, T] each, on `device`.
std::pair<torch::Tensor, torch::Tensor> batch_tensors(const Batch& batch, torch::Device device);

}  // namespace normbench
