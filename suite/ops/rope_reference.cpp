#include <ATen/ATen.h>

#include "suite/ops/reference.h"

namespace normbench::ops::reference {

torch::Tensor rope(const torch::Tensor& x, const RopeTable& table) {
  const auto width = table.rotary_width, tokens = x.size(1), half = width / 2;
  const auto wide = widen(x);
  const auto c =
      widen(table.cos).narrow(0, 0, tokens).unsqueeze(1);  // [T, 1, R/2], the same for every head
  const auto s = widen(table.sin).narrow(0, 0, tokens).unsqueeze(1);
  const auto turned = wide.narrow(-1, 0, width);  // [B, T, H, R]
  torch::Tensor y;
  if (table.pairs == RopePairs::kHalf) {
    const auto a = turned.narrow(-1, 0, half), b = turned.narrow(-1, half, half);
    y = at::cat({a * c - b * s, a * s + b * c}, -1);
  } else {
    const auto pairs = turned.unflatten(-1, {half, 2});
    const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
    // kPublished keeps one term of each sum; its table holds other numbers too (rope_table).
    const bool published = table.pairs == RopePairs::kPublished;
    y = (published ? at::stack({-b * s, a * c}, -1) : at::stack({a * c - b * s, a * s + b * c}, -1))
            .flatten(-2);
  }
  if (width < x.size(-1)) y = at::cat({y, wide.narrow(-1, width, x.size(-1) - width)}, -1);
  return y.to(x.scalar_type());
}

torch::Tensor rope_l2_norm(const torch::Tensor& x, const RopeTable& table,
                           const std::optional<torch::Tensor>& gain) {
  const auto y = l2_norm(reference::rope(widen(x), table));
  return (gain ? y * widen(*gain).view({x.size(2), x.size(3)}) : y).to(x.scalar_type());
}

}  // namespace normbench::ops::reference
