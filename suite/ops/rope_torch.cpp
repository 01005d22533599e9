#include <ATen/ATen.h>

#include <cmath>

#include "suite/ops/reference.h"
#include "suite/ops/rope.h"

namespace normbench::ops {

RopeTable rope_table(int64_t context, int64_t rotary_width, double base, RopePairs pairs, torch::ScalarType type) {
  TORCH_CHECK(context >= 0 && rotary_width > 0 && rotary_width % 2 == 0 && base > 0, "rope_table: context ", context,
              ", rotary_width ", rotary_width, ", base ", base, "; expected an even positive width and a positive base");
  const int64_t half = rotary_width / 2;
  auto cosine = at::empty({context, half}, at::kDouble), sine = at::empty({context, half}, at::kDouble);
  auto c = cosine.accessor<double, 2>(), s = sine.accessor<double, 2>();
  const auto angle = [&](int64_t t, int64_t i) {
    return static_cast<double>(t) * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_width));
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
  TORCH_CHECK(x.dim() == 4 && x.size(1) <= table.cos.size(0) && table.rotary_width <= x.size(3), "rope: x is ", x.sizes(),
              ", the table has ", table.cos.size(0), " positions and rotary_width ", table.rotary_width,
              "; expected x [B, T, H, Dh] with T and Dh inside the table's limits");
  TORCH_CHECK(table.pairs != RopePairs::kPublished || table.rotary_width == x.size(3),
              "rope: the published table spans whole heads; rotary_width ", table.rotary_width, ", head width ", x.size(3));
  return reference::rope(x, table);
}

}  // namespace normbench::ops
