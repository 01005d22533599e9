// Between tensors and the raw entries of a safetensors file.
#pragma once

#include <torch/types.h>

#include <string>

#include "suite/base/safetensors.h"

namespace normbench {

/// "F32" for torch::kFloat and so on; throws std::logic_error on a type that no file of ours holds.
std::string safetensors_dtype(torch::ScalarType type);

/// A view of the tensor's bytes. The tensor must be contiguous, on the CPU, and outlive the entry.
TensorEntry tensor_entry(const torch::Tensor& tensor);

/// A copy as a CPU tensor.
torch::Tensor tensor_of(const TensorEntry& entry);

}  // namespace normbench
