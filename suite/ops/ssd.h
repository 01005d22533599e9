// State space duality, the recurrence of Mamba-2 (arXiv 2405.21060, section 6) and the causal
// convolution in front of it.
//   S_t = exp(dt_t A) S_{t-1} + dt_t x_t B_t^T,   y_t = S_t C_t + D x_t,   S in R^{P x N} per head
// Head h reads B and C of group floor(h / (H / G)). Everything runs in fp32 or wider.
// B batch, T tokens, H heads, P head width, G groups, N state width.
#pragma once

#include <torch/types.h>

namespace normbench::ops {

struct SsdInput {
  torch::Tensor x;           // [B, T, H, P]
  torch::Tensor dt;          // [B, T, H], the step, at least 0
  torch::Tensor A;           // [H], negative
  torch::Tensor B, C;        // [B, T, G, N]
  torch::Tensor D = {};      // [H], or undefined: no skip
  torch::Tensor state = {};  // [B, H, P, N] before the first token, or undefined: zeros
};

struct SsdResult {
  torch::Tensor y;      // [B, T, H, P], the type of x
  torch::Tensor state;  // [B, H, P, N] after the last token, fp32 or wider
};

/// All tokens at once, in chunks of `chunk` tokens: products inside a chunk, the recurrence only
/// from chunk to chunk. The result does not depend on `chunk`, which need not divide T; memory
/// grows with B H T chunk.
SsdResult ssd(const SsdInput& input, int64_t chunk);

/// One token, for streaming. x: [B, H, P]; dt: [B, H]; B, C: [B, G, N]; state: [B, H, P, N]. y: [B,
/// H, P].
SsdResult ssd_step(const SsdInput& token);

/// M[s, l] = exp(sum_{s < k <= l} a_k) for s <= l, else 0. a: [..., Q], at most 0. Returns [..., Q,
/// Q]. Stable: each exponent is a sum of its own terms, never a difference of longer sums, and what
/// is masked is masked before exp (after it, 0 times infinity makes the gradient NaN).
torch::Tensor decay_between(const torch::Tensor& a);

/// y_t = bias + sum_k weight_k x_{t-K+1+k}, channel by channel: the last tap is the current token.
/// x: [B, T, Ch]; weight: [Ch, 1, K]; bias: [Ch]; before: the K - 1 tokens in front of x, or
/// undefined: zeros. Returns [B, T, Ch], the type of x.
torch::Tensor causal_conv(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias, const torch::Tensor& before = {});

namespace reference {
/// ssd() token after token by ssd_step().
SsdResult ssd(const SsdInput& input);
}  // namespace reference

}  // namespace normbench::ops
