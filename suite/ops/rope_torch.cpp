#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "suite/ops/blocks.h"
#include "suite/ops/reference.h"
#include "suite/ops/rope.h"

namespace normbench::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The kernels' view of x and its table; both must outlive it.
cpu::RopeArrays arrays_of(const torch::Tensor& x, const RopeTable& table, const float* gain) {
  const RopeShape shape{x.size(3), table.rotary_width / 2, table.pairs != RopePairs::kHalf,
                        table.pairs == RopePairs::kPublished};
  return {shape, x.size(1), x.size(2), data(table.cos), data(table.sin), gain};
}

void save_table(AutogradContext* ctx, const RopeTable& table) {
  ctx->saved_data["width"] = table.rotary_width;
  ctx->saved_data["pairs"] = static_cast<int64_t>(table.pairs);
}

RopeTable saved_table(AutogradContext* ctx, const torch::Tensor& cosine,
                      const torch::Tensor& sine) {
  return {cosine, sine, ctx->saved_data["width"].toInt(),
          static_cast<RopePairs>(ctx->saved_data["pairs"].toInt())};
}

struct Rope : torch::autograd::Function<Rope> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x_any,
                               const RopeTable& table) {
    const auto x = x_any.contiguous();
    save_table(ctx, table);
    ctx->save_for_backward({table.cos, table.sin});
    return turn(x, table, /*transposed=*/false);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("rope");
    const auto saved = ctx->get_saved_variables();
    const auto table = saved_table(ctx, saved[0], saved[1]);
    return {turn(grads[0].contiguous(), table, /*transposed=*/true), torch::Tensor()};
  }

  static torch::Tensor turn(const torch::Tensor& x, const RopeTable& table, bool transposed) {
    const auto arrays = arrays_of(x, table, nullptr);
    const auto y = at::empty_like(x);
    each_block(x.numel() / x.size(3), x.size(3), [&](int64_t, cpu::RowRange range) {
      cpu::rope(range, arrays, transposed, data(x), data(y));
    });
    return y;
  }
};

struct RopeL2Norm : torch::autograd::Function<RopeL2Norm> {
  // gain: [H, Dh], or none.
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x_any,
                               const std::optional<torch::Tensor>& gain, const RopeTable& table) {
    const auto x = x_any.contiguous();
    const int64_t n = x.size(3), rows = x.numel() / n;
    const auto y = at::empty_like(x), r = at::empty({rows}, x.options());
    const auto arrays = arrays_of(x, table, gain ? data(*gain) : nullptr);
    each_block(rows, n, [&](int64_t, cpu::RowRange range) {
      cpu::rope_l2_norm(range, arrays, data(x), data(y), data(r));
    });
    save_table(ctx, table);
    ctx->save_for_backward({x, gain.value_or(torch::Tensor()), r, table.cos, table.sin});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    refuse_second_derivative("rope_l2_norm");
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &gain = saved[1], &r = saved[2];
    const auto table = saved_table(ctx, saved[3], saved[4]);
    const auto dy = grads[0].contiguous(), dx = at::empty_like(x);
    const int64_t n = x.size(3), rows = x.numel() / n, entries = x.size(2) * n;
    const auto arrays = arrays_of(x, table, gain.defined() ? data(gain) : nullptr);
    const auto dgain = gain.defined() ? block_shares(rows, entries, x) : torch::Tensor();
    const auto scratch = at::empty({num_blocks(rows), n}, x.options());
    each_block(rows, n, [&](int64_t block, cpu::RowRange range) {
      cpu::rope_l2_norm_backward(range, arrays, data(x), data(r), data(dy), data(dx),
                                 gain.defined() ? data(dgain) + block * entries : nullptr,
                                 data(scratch) + block * n);
    });
    return {dx, gain.defined() ? sum_in_order(dgain).view(gain.sizes()) : torch::Tensor(),
            torch::Tensor()};
  }
};

void check(const char* op, const torch::Tensor& x, const RopeTable& table) {
  TORCH_CHECK(x.dim() == 4 && x.size(1) <= table.cos.size(0) && table.rotary_width <= x.size(3), op,
              ": x is ", x.sizes(), ", the table has ", table.cos.size(0),
              " positions and rotary_width ", table.rotary_width,
              "; expected x [B, T, H, Dh] with T and Dh inside the table's limits");
  TORCH_CHECK(table.pairs != RopePairs::kPublished || table.rotary_width == x.size(3), op,
              ": the published table spans whole heads; rotary_width ", table.rotary_width,
              ", head width ", x.size(3));
}

}  // namespace

RopeTable rope_table(int64_t context, int64_t rotary_width, double base, RopePairs pairs,
                     torch::ScalarType type) {
  TORCH_CHECK(context >= 0 && rotary_width > 0 && rotary_width % 2 == 0 && base > 0,
              "rope_table: context ", context, ", rotary_width ", rotary_width, ", base ", base,
              "; expected an even positive width and a positive base");
  const int64_t half = rotary_width / 2;
  auto cosine = at::empty({context, half}, at::kDouble),
       sine = at::empty({context, half}, at::kDouble);
  auto c = cosine.accessor<double, 2>(), s = sine.accessor<double, 2>();
  const auto angle = [&](int64_t t, int64_t i) {
    return static_cast<double>(t) *
           std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_width));
  };
  // The published table: E[t, 2j] = sin(t w_j), E[t, 2j + 1] = cos(t w_j).
  const auto published = [&](int64_t t, int64_t column) {
    return column % 2 == 0 ? std::sin(angle(t, column / 2)) : std::cos(angle(t, column / 2));
  };
  for (int64_t t = 0; t < context; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      c[t][i] = pairs == RopePairs::kPublished ? published(t, i) : std::cos(angle(t, i));
      s[t][i] = pairs == RopePairs::kPublished ? published(t, half + i) : std::sin(angle(t, i));
    }
  }
  return {cosine.to(type), sine.to(type), rotary_width, pairs};
}

torch::Tensor rope(const torch::Tensor& x, const RopeTable& table) {
  check("rope", x, table);
  return kernel_takes({x, table.cos, table.sin}) ? Rope::apply(x, table)
                                                 : reference::rope(x, table);
}

torch::Tensor rope_l2_norm(const torch::Tensor& x, const RopeTable& table,
                           const std::optional<torch::Tensor>& gain) {
  check("rope_l2_norm", x, table);
  TORCH_CHECK(!gain || gain->numel() == x.size(2) * x.size(3), "rope_l2_norm: x is ", x.sizes(),
              ", gain is ", gain->sizes(), "; expected one gain for each of the H * Dh entries");
  if (!kernel_takes({x, table.cos, table.sin, gain.value_or(table.cos)}))
    return reference::rope_l2_norm(x, table, gain);
  const auto by_head =
      gain ? std::optional(gain->reshape({x.size(2), x.size(3)}).contiguous()) : std::nullopt;
  return RopeL2Norm::apply(x, by_head, table);
}

}  // namespace normbench::ops
