#include <ATen/ATen.h>

#include "suite/ops/norm.h"
#include "suite/ops/reference.h"

namespace normbench::ops {

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps) {
  TORCH_CHECK(x.dim() >= 1 && gain.dim() == 1 && gain.size(0) == x.size(-1), "rms_norm: x is ", x.sizes(), ", gain is ",
              gain.sizes(), "; expected x [..., D] and gain [D]");
  return reference::rms_norm(x, gain, eps);
}

torch::Tensor l2_norm(const torch::Tensor& x) {
  TORCH_CHECK(x.dim() >= 1, "l2_norm: x is a scalar; expected [..., D]");
  return reference::l2_norm(x);
}

}  // namespace normbench::ops
