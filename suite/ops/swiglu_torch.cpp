#include <torch/csrc/autograd/custom_function.h>

#include "suite/ops/blocks.h"
#include "suite/ops/reference.h"
#include "suite/ops/swiglu.h"

namespace normbench::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& gate_any,
                               const torch::Tensor& up_any) {
    const auto gate = gate_any.contiguous(), up = up_any.contiguous();
    const int64_t n = gate.size(-1);
    const auto y = at::empty_like(gate);
    each_block(gate.numel() / n, n, [&](int64_t, cpu::RowRange range) {
      cpu::swiglu(range, data(gate), data(up), data(y));
    });
    ctx->save_for_backward({gate, up});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("swiglu");
    const auto saved = ctx->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1];
    const auto dy = grads[0].contiguous();
    const int64_t n = gate.size(-1);
    const auto dgate = at::empty_like(gate), dup = at::empty_like(gate);
    each_block(gate.numel() / n, n, [&](int64_t, cpu::RowRange range) {
      cpu::swiglu_backward(range, data(gate), data(up), data(dy), data(dgate), data(dup));
    });
    return {dgate, dup};
  }
};

}  // namespace

torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up) {
  TORCH_CHECK(
      gate.dim() >= 1 && gate.sizes() == up.sizes() && gate.scalar_type() == up.scalar_type(),
      "swiglu: gate is ", gate.sizes(), " ", gate.scalar_type(), ", up is ", up.sizes(), " ",
      up.scalar_type(), "; expected equal shapes and types");
  return kernel_takes({gate, up}) ? SwiGlu::apply(gate, up) : reference::swiglu(gate, up);
}

}  // namespace normbench::ops
