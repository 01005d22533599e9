#pragma once

#include <torch/types.h>

namespace normbench::ops {

/// y = up * SiLU(gate), SiLU(z) = z / (1 + exp(-z)). gate, up: same shape and type.
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);

}  // namespace normbench::ops
