// The operators in plain ATen: written to be read, correct in every floating type, on every device,
// for every stride, and differentiable twice. They are the truth that the fused kernels are tested
// against, and what runs where no kernel is. Formulas, shapes and sources stand at the public
// functions of the same names.
#pragma once

#include <torch/types.h>

#include <optional>

#include "suite/ops/lerp.h"
#include "suite/ops/rope.h"

namespace normbench::ops::reference {

/// x itself when fp32 or fp64, else x in fp32: the type in which every sum runs.
inline torch::Tensor widen(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat || x.scalar_type() == torch::kDouble
             ? x
             : x.to(torch::kFloat);
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps);
torch::Tensor l2_norm(const torch::Tensor& x);
torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y,
                             const torch::Tensor& alpha, LerpInputs inputs);
/// nu(alpha) of scaled_lerp: [D], or a scalar.
torch::Tensor nu_alpha(const torch::Tensor& alpha, NuAlpha nu);
torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y,
                          const torch::Tensor& alpha, bool normalize_branch, NuAlpha nu);
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up);
torch::Tensor rope(const torch::Tensor& x, const RopeTable& table);
torch::Tensor rope_l2_norm(const torch::Tensor& x, const RopeTable& table,
                           const std::optional<torch::Tensor>& gain);
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, double scale);
torch::Tensor linear_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                   const std::optional<torch::Tensor>& scale,
                                   const torch::Tensor& targets);

}  // namespace normbench::ops::reference
