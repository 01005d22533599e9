#include <ATen/ATen.h>

#include "suite/ops/lerp.h"
#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

void check(const char* op, const torch::Tensor& h, const torch::Tensor& y, const torch::Tensor& alpha) {
  TORCH_CHECK(h.dim() >= 1 && h.sizes() == y.sizes() && h.scalar_type() == y.scalar_type() && alpha.dim() == 1 &&
                  alpha.size(0) == h.size(-1),
              op, ": h is ", h.sizes(), " ", h.scalar_type(), ", y is ", y.sizes(), " ", y.scalar_type(), ", alpha is ",
              alpha.sizes(), "; expected h and y [..., D] of one type, alpha [D]");
}

}  // namespace

torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y, const torch::Tensor& alpha,
                             LerpInputs inputs) {
  check("lerp_normalize", h, y, alpha);
  return reference::lerp_normalize(h, y, alpha, inputs);
}

torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y, const torch::Tensor& alpha,
                          bool normalize_branch, NuAlpha nu) {
  check("scaled_lerp", h, y, alpha);
  return reference::scaled_lerp(h, y, alpha, normalize_branch, nu);
}

}  // namespace normbench::ops
