#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up) {
  return (widen(up) * at::silu(widen(gate))).to(gate.scalar_type());
}

}  // namespace normbench::ops::reference
