#include "suite/ops/ssd.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "suite/ops/reference.h"

namespace normbench::ops {

using reference::widen;

namespace {

void check(const SsdInput& in, int64_t chunk) {
  TORCH_CHECK(in.x.dim() == 4 && in.dt.sizes() == in.x.sizes().slice(0, 3) && in.B.dim() == 4 &&
                  in.B.sizes() == in.C.sizes() && in.A.dim() == 1 && in.A.size(0) == in.x.size(2) &&
                  in.B.size(0) == in.x.size(0) && in.B.size(1) == in.x.size(1) &&
                  in.B.size(2) > 0 && in.x.size(2) % in.B.size(2) == 0 && in.x.size(1) > 0 &&
                  chunk > 0,
              "ssd: x is ", in.x.sizes(), ", dt is ", in.dt.sizes(), ", A is ", in.A.sizes(),
              ", B is ", in.B.sizes(), ", C is ", in.C.sizes(), ", chunk is ", chunk,
              "; expected x [B, T, H, P], dt [B, T, H], A [H], B and C [B, T, G, N] with H a ",
              "multiple of G");
}

/// Sums along the last dimension up to and with each entry. CUDA's cumsum has no deterministic form
/// (pytorch issue 75240), so that a product takes its place there.
torch::Tensor running_sum(const torch::Tensor& x) {
  if (!x.is_cuda()) return x.cumsum(-1);
  return x.matmul(at::ones({x.size(-1), x.size(-1)}, x.options()).triu());
}

}  // namespace

torch::Tensor decay_between(const torch::Tensor& a) {
  const int64_t q = a.size(-1);
  // Rows s, columns k or l: the sum over k runs along the memory.
  const auto ones = at::ones({q, q}, a.options().dtype(at::kBool));
  auto shape = a.sizes().vec();
  shape.push_back(q);
  return running_sum(a.unsqueeze(-2).expand(shape).masked_fill(ones.tril(), 0))  // k <= s
      .masked_fill_(ones.tril(-1), -std::numeric_limits<double>::infinity())     // l < s
      .exp_();
}

SsdResult ssd(const SsdInput& in, int64_t chunk) {
  check(in, chunk);
  const auto x = widen(in.x), dt = widen(in.dt), A = widen(in.A);
  const int64_t tokens = x.size(1), heads = x.size(2), width = x.size(3), groups = in.B.size(2),
                shared = heads / groups;  // R, the heads of a group
  const int64_t q = std::min(chunk, tokens), num_chunks = (tokens + q - 1) / q;
  // [B, T, ...] -> [B, c, Q, ...]. Tokens behind the last have dt = 0: decay 1, input 0.
  const auto chunks = [&](const torch::Tensor& t) {
    std::vector<int64_t> pad(2 * static_cast<size_t>(t.dim() - 1), 0);
    pad.back() = num_chunks * q - tokens;
    return (pad.back() ? at::constant_pad_nd(t, pad) : t).unflatten(1, {num_chunks, q});
  };
  const auto a = chunks(dt * A).transpose(2, 3).contiguous();  // [B, c, H, Q]
  const auto X =
      chunks(dt.unsqueeze(-1) * x).unflatten(3, {groups, shared}).transpose(2, 3).contiguous();
  // X: [B, c, G, Q, R, P]
  const auto B = chunks(widen(in.B)).transpose(2, 3), C = chunks(widen(in.C)).transpose(2, 3);
  // B, C: [B, c, G, Q, N]

  // Inside a chunk: y_l = sum_{s <= l} M_sl (B_s C_l) X_s.
  const auto M = decay_between(a).unflatten(2, {groups, shared});     // [B, c, G, R, Q, Q]
  const auto scores = B.matmul(C.transpose(-1, -2)).unsqueeze(3);     // [B, c, G, 1, Q, Q]
  auto y = (scores * M).transpose(-1, -2).matmul(X.transpose(3, 4));  // [B, c, G, R, Q, P]
  y = y.transpose(3, 4);                                              // [B, c, G, Q, R, P]

  // What a chunk adds to the state: sum_s exp(a_{s+1} + ... + a_Q) X_s B_s^T.
  const auto to_end = M.select(-1, q - 1).transpose(3, 4).unsqueeze(-1);  // [B, c, G, Q, R, 1]
  const auto added =
      (X * to_end).flatten(4).transpose(-1, -2).matmul(B).unflatten(3, {shared, width});
  // added: [B, c, G, R, P, N]
  const auto decay =
      a.sum(-1).exp().unflatten(2, {groups, shared}).unsqueeze(-1).unsqueeze(-1);  // [B, c, G, R]
  auto state = in.state.defined() ? widen(in.state).unflatten(1, {groups, shared})
                                  : at::zeros_like(added.select(1, 0));  // [B, G, R, P, N]
  std::vector<torch::Tensor> starts;
  for (int64_t c = 0; c < num_chunks; ++c) {
    starts.push_back(state);
    state = decay.select(1, c) * state + added.select(1, c);
  }
  // From the state at the chunk's start: y_l = exp(a_1 + ... + a_l) S C_l.
  if (in.state.defined() || num_chunks > 1) {
    const auto start = at::stack(starts, 1).flatten(3, 4);  // [B, c, G, R P, N]
    const auto from_start =
        running_sum(a).exp().unflatten(2, {groups, shared}).transpose(3, 4).unsqueeze(-1);
    y = y + C.matmul(start.transpose(-1, -2)).unflatten(4, {shared, width}) * from_start;
  }
  y = y.transpose(2, 3).flatten(3, 4).flatten(1, 2).narrow(1, 0, tokens);  // [B, T, H, P]
  if (in.D.defined()) y = y + widen(in.D).unsqueeze(-1) * x;
  return {y.to(in.x.scalar_type()), state.flatten(1, 2)};
}

SsdResult ssd_step(const SsdInput& in) {
  const auto x = widen(in.x), dt = widen(in.dt);
  const int64_t shared = x.size(1) / in.B.size(1);
  const auto B = widen(in.B).repeat_interleave(shared, 1),
             C = widen(in.C).repeat_interleave(shared, 1);
  const auto decay = (dt * widen(in.A)).exp().unsqueeze(-1).unsqueeze(-1);   // [B, H, 1, 1]
  const auto added = (dt.unsqueeze(-1) * x).unsqueeze(-1) * B.unsqueeze(2);  // [B, H, P, N]
  const auto state = decay * in.state + added;
  auto y = state.matmul(C.unsqueeze(-1)).squeeze(-1);  // [B, H, P]
  if (in.D.defined()) y = y + widen(in.D).unsqueeze(-1) * x;
  return {y.to(in.x.scalar_type()), state};
}

torch::Tensor causal_conv(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& bias, const torch::Tensor& before) {
  TORCH_CHECK(x.dim() == 3 && weight.dim() == 3 && weight.size(0) == x.size(2) &&
                  weight.size(1) == 1 && bias.numel() == x.size(2),
              "causal_conv: x is ", x.sizes(), ", weight is ", weight.sizes(), ", bias is ",
              bias.sizes(), "; expected x [B, T, Ch], weight [Ch, 1, K], bias [Ch]");
  const int64_t taps = weight.size(2), tokens = x.size(1);
  const auto wide = widen(x);
  const auto padded = before.defined() ? at::cat({widen(before), wide}, 1)
                                       : at::constant_pad_nd(wide, {0, 0, taps - 1, 0});
  auto y = widen(bias).expand_as(wide);
  for (int64_t k = 0; k < taps; ++k)
    y = y.addcmul(padded.narrow(1, k, tokens), widen(weight).select(2, k).squeeze(1));
  return y.to(x.scalar_type());
}

}  // namespace normbench::ops
