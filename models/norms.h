// Norms with the parameters of their papers, and what is put in their place. All act on the last
// dimension, in fp32 or wider, and return the type of x. D is the length of the last dimension.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <string>

namespace normbench {

/// y = (x - mean x) / sqrt(var x + eps) * weight + bias, var over D (not D - 1). weight: [D]; bias:
/// [D] or undefined.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);

/// Dynamic tanh, y = weight * tanh(alpha x) + bias (arXiv 2503.10622). alpha: [1]; weight: [D];
/// bias: [D] or undefined.
torch::Tensor dyt(const torch::Tensor& x, const torch::Tensor& alpha, const torch::Tensor& weight,
                  const torch::Tensor& bias);

/// y = weight * erf(alpha x + shift) + bias (arXiv 2512.10938). alpha, shift: [1].
torch::Tensor derf(const torch::Tensor& x, const torch::Tensor& alpha, const torch::Tensor& shift,
                   const torch::Tensor& weight, const torch::Tensor& bias);

/// Where an L2 norm has its eps.
enum class L2Eps {
  kClamp,  // x / max(||x||, eps)
  kSum,    // x / sqrt(||x||^2 + eps)
  kAdd,    // x / (||x|| + eps)
};
torch::Tensor l2_norm(const torch::Tensor& x, double eps, L2Eps where);

struct NormOptions {
  std::string norm = "rmsnorm";  // rmsnorm, layernorm, dyt or derf
  double eps = 0;                // of rmsnorm and layernorm
  bool bias = false;             // of all but rmsnorm
};

/// One of the four with its parameters, not initialised: weight, and bias, alpha, shift where the
/// formula has them.
struct NormImpl : torch::nn::Module {
  NormImpl(int64_t width, const NormOptions& options);
  torch::Tensor forward(const torch::Tensor& x);  // [..., D]

  NormOptions options;
  torch::Tensor weight, bias, alpha, shift;
};
TORCH_MODULE(Norm);

}  // namespace normbench
