#include "models/norms.h"

#include <torch/torch.h>

#include "models/layers.h"
#include "suite/ops/norm.h"
#include "suite/ops/reference.h"

namespace normbench {

namespace {

using ops::reference::widen;

torch::Tensor scale_and_shift(const torch::Tensor& y, const torch::Tensor& weight,
                              const torch::Tensor& bias, torch::ScalarType type) {
  const auto scaled = weight * y;
  return (bias.defined() ? scaled + bias : scaled).to(type);
}

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  return at::layer_norm(widen(x), weight.sizes(), weight, bias, eps).to(x.scalar_type());
}

torch::Tensor dyt(const torch::Tensor& x, const torch::Tensor& alpha, const torch::Tensor& weight,
                  const torch::Tensor& bias) {
  return scale_and_shift((alpha * widen(x)).tanh(), weight, bias, x.scalar_type());
}

torch::Tensor derf(const torch::Tensor& x, const torch::Tensor& alpha, const torch::Tensor& shift,
                   const torch::Tensor& weight, const torch::Tensor& bias) {
  return scale_and_shift((alpha * widen(x) + shift).erf(), weight, bias, x.scalar_type());
}

torch::Tensor l2_norm(const torch::Tensor& x, double eps, L2Eps where) {
  const auto wide = widen(x);
  if (where == L2Eps::kSum)
    return (wide * (wide.square().sum(-1, /*keepdim=*/true) + eps).rsqrt()).to(x.scalar_type());
  const auto norm = wide.norm(2, {-1}, /*keepdim=*/true);
  return (wide / (where == L2Eps::kClamp ? norm.clamp_min(eps) : norm + eps)).to(x.scalar_type());
}

NormImpl::NormImpl(int64_t width, const NormOptions& norm_options) : options(norm_options) {
  weight = register_parameter("weight", new_parameter({width}));
  if (options.bias) bias = register_parameter("bias", new_parameter({width}));
  if (options.norm == "dyt" || options.norm == "derf")
    alpha = register_parameter("alpha", new_parameter({1}));
  if (options.norm == "derf") shift = register_parameter("shift", new_parameter({1}));
}

torch::Tensor NormImpl::forward(const torch::Tensor& x) {
  if (options.norm == "rmsnorm") return ops::rms_norm(x, weight, options.eps);
  if (options.norm == "layernorm") return layer_norm(x, weight, bias, options.eps);
  if (options.norm == "dyt") return dyt(x, alpha, weight, bias);
  return derf(x, alpha, shift, weight, bias);
}

}  // namespace normbench
