#include "suite/train/evaluate.h"

#include <torch/torch.h>

#include "suite/base/interrupt.h"

namespace normbench {

std::pair<torch::Tensor, torch::Tensor> batch_tensors(const Batch& batch, torch::Device device) {
  const auto windows = torch::from_blob(const_cast<int64_t*>(batch.tokens.data()),
                                        {batch.num_sequences, batch.context + 1}, torch::kLong)
                           .to(device, torch::kLong, /*non_blocking=*/false, /*copy=*/true);
  return {windows.slice(1, 0, batch.context).contiguous(), windows.slice(1, 1).contiguous()};
}

double validation_loss(Model& model, const ValidationSlice& slice, int64_t sequences_per_batch,
                       torch::Device device) {
  torch::NoGradGuard no_grad;
  double sum = 0;
  int64_t tokens = 0;
  for (int64_t first = 0; first < slice.num_windows(); first += sequences_per_batch) {
    stop_if_interrupted();
    const Batch batch =
        slice.windows(first, std::min(sequences_per_batch, slice.num_windows() - first));
    const auto [inputs, targets] = batch_tensors(batch, device);
    sum += model.loss(inputs, targets).item<double>() * static_cast<double>(batch.num_predicted());
    tokens += batch.num_predicted();
  }
  return sum / static_cast<double>(tokens);
}

}  // namespace normbench
