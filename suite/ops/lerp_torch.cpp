#include <torch/csrc/autograd/custom_function.h>

#include "suite/ops/blocks.h"
#include "suite/ops/lerp.h"
#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

LerpRoots* roots_of(const torch::Tensor& roots) {
  return reinterpret_cast<LerpRoots*>(data(roots));
}  // [rows, 3]

struct LerpNormalize : torch::autograd::Function<LerpNormalize> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& h_any,
                               const torch::Tensor& y_any, const torch::Tensor& alpha_any,
                               bool normalize_h) {
    const auto h = h_any.contiguous(), y = y_any.contiguous(), alpha = alpha_any.contiguous();
    const int64_t n = h.size(-1), rows = h.numel() / n;
    const auto out = at::empty_like(h), roots = at::empty({rows, 3}, h.options());
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::lerp_normalize(range, data(h), data(y), data(alpha), normalize_h, data(out),
                          roots_of(roots));
    });
    ctx->save_for_backward({h, y, alpha, roots, out});
    ctx->saved_data["normalize_h"] = normalize_h;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("lerp_normalize");
    const auto saved = ctx->get_saved_variables();
    const auto &h = saved[0], &y = saved[1], &alpha = saved[2], &roots = saved[3], &out = saved[4];
    const bool normalize_h = ctx->saved_data["normalize_h"].toBool();
    const auto dout = grads[0].contiguous();
    const int64_t n = h.size(-1), rows = h.numel() / n;
    const auto dh = at::empty_like(h), dy = at::empty_like(h), dalpha = block_shares(rows, n, h);
    each_block(rows, n, [&](int64_t block, cpu::RowRange range) {
      cpu::lerp_normalize_backward(range, data(h), data(y), data(alpha), normalize_h,
                                   roots_of(roots), data(out), data(dout), data(dh), data(dy),
                                   data(dalpha) + block * n);
    });
    return {dh, dy, sum_in_order(dalpha), torch::Tensor()};
  }
};

// out = keep h + add b, b = norm(y) or y.
struct KeepAndAdd : torch::autograd::Function<KeepAndAdd> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& h_any,
                               const torch::Tensor& y_any, const torch::Tensor& keep,
                               const torch::Tensor& add, bool normalize_branch) {
    const auto h = h_any.contiguous(), y = y_any.contiguous();
    const int64_t n = h.size(-1), rows = h.numel() / n;
    const auto out = at::empty_like(h), rb = at::empty({rows}, h.options());
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::scaled_lerp(range, data(h), data(y), data(keep), data(add), normalize_branch, data(out),
                       data(rb));
    });
    ctx->save_for_backward({h, y, keep, add, rb});
    ctx->saved_data["normalize_branch"] = normalize_branch;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("scaled_lerp");
    const auto saved = ctx->get_saved_variables();
    const auto &h = saved[0], &y = saved[1], &keep = saved[2], &add = saved[3], &rb = saved[4];
    const bool normalize_branch = ctx->saved_data["normalize_branch"].toBool();
    const auto dout = grads[0].contiguous();
    const int64_t n = h.size(-1), rows = h.numel() / n;
    const auto dh = at::empty_like(h), dy = at::empty_like(h);
    const auto dkeep = block_shares(rows, n, h), dadd = block_shares(rows, n, h);
    each_block(rows, n, [&](int64_t block, cpu::RowRange range) {
      cpu::scaled_lerp_backward(range, data(h), data(y), data(keep), data(add), normalize_branch,
                                data(rb), data(dout), data(dh), data(dy), data(dkeep) + block * n,
                                data(dadd) + block * n);
    });
    return {dh, dy, sum_in_order(dkeep), sum_in_order(dadd), torch::Tensor()};
  }
};

void check(const char* op, const torch::Tensor& h, const torch::Tensor& y,
           const torch::Tensor& alpha) {
  TORCH_CHECK(h.dim() >= 1 && h.sizes() == y.sizes() && h.scalar_type() == y.scalar_type() &&
                  alpha.dim() == 1 && alpha.size(0) == h.size(-1),
              op, ": h is ", h.sizes(), " ", h.scalar_type(), ", y is ", y.sizes(), " ",
              y.scalar_type(), ", alpha is ", alpha.sizes(),
              "; expected h and y [..., D] of one type, alpha [D]");
}

}  // namespace

torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y,
                             const torch::Tensor& alpha, LerpInputs inputs) {
  check("lerp_normalize", h, y, alpha);
  if (!kernel_takes({h, y, alpha})) return reference::lerp_normalize(h, y, alpha, inputs);
  return LerpNormalize::apply(h, y, alpha, inputs == LerpInputs::kNormalizeBoth);
}

torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y,
                          const torch::Tensor& alpha, bool normalize_branch, NuAlpha nu) {
  check("scaled_lerp", h, y, alpha);
  if (!kernel_takes({h, y, alpha}))
    return reference::scaled_lerp(h, y, alpha, normalize_branch, nu);
  // The two factors of [D] entries, and the gradient through nu, stay in ATen: they cost nothing
  // beside [B, T, D].
  const auto factor = reference::nu_alpha(alpha, nu);
  return KeepAndAdd::apply(h, y, factor * (1 - alpha), factor * alpha, normalize_branch);
}

}  // namespace normbench::ops
