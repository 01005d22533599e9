// Gradient clipping by the global norm, on the loop's side of the optimiser.
#pragma once

#include <vector>

#include "suite/ops/parameter_group.h"

namespace normbench {

/// g <- g min(1, max_norm / (n + 1e-6)), n = sqrt(sum over all gradients of g^2), summed in double.
/// Returns n, the norm before clipping. max_norm = 0 only measures. A norm that is not finite
/// leaves the gradients as they are: the loop reads the value and ends the run. The rule, with its
/// 1e-6, is that of torch.nn.utils.clip_grad_norm_.
double clip_gradients_(const std::vector<ParameterGroup>& groups, double max_norm);

}  // namespace normbench
