// Rotary position embedding. Su et al., arXiv 2104.09864.
#pragma once

#include <torch/types.h>

#include <optional>

namespace normbench::ops {

/// Which entries form a pair that turns by the angle t * base^(-2i / rotary_width).
enum class RopePairs {
  kHalf,         // (i, i + rotary_width / 2), GPT-NeoX
  kInterleaved,  // (2i, 2i + 1), RoFormer
  kPublished,    // NVIDIA/ngpt's table, which is not a rotation (its issue 10). Full width only
};

struct RopeTable {
  torch::Tensor cos, sin;  // [T, rotary_width / 2]
  int64_t rotary_width = 0;
  RopePairs pairs = RopePairs::kHalf;
};

/// Angles of positions 0..context-1, computed in double, stored in `type`. rotary_width: even, at
/// most head_width.
RopeTable rope_table(int64_t context, int64_t rotary_width, double base, RopePairs pairs,
                     torch::ScalarType type);

/// x: [B, T, H, Dh]; the first rotary_width entries of every head are turned, the rest is passed
/// through.
torch::Tensor rope(const torch::Tensor& x, const RopeTable& table);

/// y = gain * z / ||z||_2 per head, z = rope(x, table). gain: H * Dh entries, head-major, or none.
/// A head of zeros stays zero.
torch::Tensor rope_l2_norm(const torch::Tensor& x, const RopeTable& table,
                           const std::optional<torch::Tensor>& gain = std::nullopt);

}  // namespace normbench::ops
