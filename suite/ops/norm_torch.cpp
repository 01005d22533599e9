#include <torch/csrc/autograd/custom_function.h>

#include "suite/ops/blocks.h"
#include "suite/ops/norm.h"
#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x_any,
                               const torch::Tensor& gain_any, double eps) {
    const auto x = x_any.contiguous(), gain = gain_any.contiguous();
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const auto y = at::empty_like(x), r = at::empty({rows}, x.options());
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::rms_norm(range, data(x), data(gain), static_cast<float>(eps), data(y), data(r));
    });
    ctx->save_for_backward({x, gain, r});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("rms_norm");
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &gain = saved[1], &r = saved[2];
    const auto dy = grads[0].contiguous();
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const auto dx = at::empty_like(x), dgain = block_shares(rows, n, x);
    each_block(rows, n, [&](int64_t block, cpu::RowRange range) {
      cpu::rms_norm_backward(range, data(x), data(gain), data(r), data(dy), data(dx),
                             data(dgain) + block * n);
    });
    return {dx, sum_in_order(dgain), torch::Tensor()};
  }
};

struct L2Norm : torch::autograd::Function<L2Norm> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x_any) {
    const auto x = x_any.contiguous();
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const auto y = at::empty_like(x), r = at::empty({rows}, x.options());
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::l2_norm(range, data(x), data(y), data(r));
    });
    ctx->save_for_backward({x, r});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("l2_norm");
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &r = saved[1];
    const auto dy = grads[0].contiguous();
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const auto dx = at::empty_like(x);
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::l2_norm_backward(range, data(x), data(r), data(dy), data(dx));
    });
    return {dx};
  }
};

}  // namespace

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps) {
  TORCH_CHECK(x.dim() >= 1 && gain.dim() == 1 && gain.size(0) == x.size(-1), "rms_norm: x is ",
              x.sizes(), ", gain is ", gain.sizes(), "; expected x [..., D] and gain [D]");
  return kernel_takes({x, gain}) ? RmsNorm::apply(x, gain, eps) : reference::rms_norm(x, gain, eps);
}

torch::Tensor l2_norm(const torch::Tensor& x) {
  TORCH_CHECK(x.dim() >= 1, "l2_norm: x is a scalar; expected [..., D]");
  return kernel_takes({x}) ? L2Norm::apply(x) : reference::l2_norm(x);
}

}  // namespace normbench::ops
