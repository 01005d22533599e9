#include "optim/clip.h"

#include <torch/torch.h>

#include <cmath>

namespace normbench {

double clip_gradients_(const std::vector<ParameterGroup>& groups, double max_norm) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const auto& group : groups)
    if (group.tensor.grad().defined()) gradients.push_back(group.tensor.grad());
  if (gradients.empty()) return 0;
  const auto norms = torch::stack(at::_foreach_norm(gradients, 2)).to(torch::kDouble);
  const double norm = norms.square().sum().sqrt().item<double>();
  if (max_norm <= 0 || !std::isfinite(norm)) return norm;
  const double factor = max_norm / (norm + 1e-6);
  if (factor < 1) at::_foreach_mul_(gradients, at::Scalar(factor));
  return norm;
}

}  // namespace normbench
