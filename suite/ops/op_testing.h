// What every operator's test does: value and gradients of two versions side by side, gradient
// against central differences, golden files. Each comparator answers with a number, and infinity
// when there is nothing to compare.
#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

namespace normbench::ops::testing {

using Operator = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

/// max |a - b| / max |b|; infinity on another shape, on another type, or where either is not
/// finite.
double relative_error(const torch::Tensor& a, const torch::Tensor& b);

/// A fixed N(0, 1) tensor named by `name`.
torch::Tensor normal(torch::IntArrayRef shape, const std::string& name,
                     torch::ScalarType type = torch::kFloat);

/// {y, dL/dx_0, dL/dx_1, ...} for L = sum(y * c) with a fixed normal c. Inputs are used as they are
/// given, with their strides; those of an integer type get no gradient.
std::vector<torch::Tensor> value_and_gradients(const Operator& op,
                                               const std::vector<torch::Tensor>& inputs);

/// The worst relative_error over value and gradients.
double worst_error(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b);

/// Worst relative error of the gradients of `op` against central differences of fourth order, in
/// double. Its own error at step 1e-3: h^4 f''''' / 30, below 1e-9 for inputs of size 1, and
/// rounding 1e-16 / 1e-3.
double central_difference_error(const Operator& op, const std::vector<torch::Tensor>& inputs,
                                double step = 1e-3);

/// worst_error of the fused fp32 operator against the same operator in double (the reference) on
/// the same numbers.
double kernel_error(const Operator& op, const std::vector<torch::Tensor>& inputs);

/// worst_error between inputs with transposed strides and contiguous ones.
double stride_error(const Operator& op, const std::vector<torch::Tensor>& inputs);

/// worst_error between one thread and three.
double thread_error(const Operator& op, const std::vector<torch::Tensor>& inputs);

/// Whether a kernel computes `op`: kernels refuse a second derivative.
bool takes_kernel(const Operator& op, const std::vector<torch::Tensor>& inputs);

/// The tensor `name` of baselines/golden/<file>.safetensors.
torch::Tensor golden(const std::string& file, const std::string& name);

}  // namespace normbench::ops::testing
