#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor linear_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                   const std::optional<torch::Tensor>& scale,
                                   const torch::Tensor& targets) {
  const auto type = h.scalar_type();
  auto logits = widen(h.mm(weight.to(type).t()));  // [N, V]
  if (scale) logits = logits * *scale;
  return at::cross_entropy_loss(logits, targets);
}

}  // namespace normbench::ops::reference
