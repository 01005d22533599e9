#include <ATen/ATen.h>

#include "suite/ops/reference.h"
#include "suite/ops/swiglu.h"

namespace normbench::ops {

torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up) {
  TORCH_CHECK(gate.sizes() == up.sizes() && gate.scalar_type() == up.scalar_type(), "swiglu: gate is ", gate.sizes(), " ",
              gate.scalar_type(), ", up is ", up.sizes(), " ", up.scalar_type(), "; expected equal shapes and types");
  return reference::swiglu(gate, up);
}

}  // namespace normbench::ops
