// The Mamba-2 mixer. Dao & Gu, arXiv 2405.21060; code state-spaces/mamba@e9594ce.
//   [z | x | B | C | dt] = W_in (s u)                                                         (1)
//   [x | B | C] <- SiLU(causal_conv([x | B | C]))                                             (2)
//   dt <- softplus(r dt + dt_bias),  A = -exp(A_log)                                          (3)
//   y = ssd(x, dt, A, B, C, D)                                          suite/ops/ssd.h       (4)
//   out = W_out norm(y SiLU(z))                                                               (5)
// norm in (5): rms (mean square of each contiguous group of channels, times a gain), l2 (over all
// channels) or none. s and r are 1 but in the normalised block (ngpt_hybrid.h).
// B batch, T tokens, D model width, H heads, P head width, G groups, N state width, K conv width.
#pragma once

#include <torch/nn/functional/activation.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/layers.h"
#include "models/norms.h"
#include "suite/base/random.h"
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"
#include "suite/ops/reference.h"
#include "suite/ops/ssd.h"
#include "suite/ops/swiglu.h"

namespace normbench {

/// The same words in every architecture with this mixer.
struct Mamba2Options {
  int64_t d_state = 64;    // N; ours, for widths of some hundreds. 128 in mamba_ssm, Nemotron-3
  int64_t num_groups = 1;  // G, a divisor of H; 1 in mamba_ssm, 8 in Nemotron-3
  int64_t ssm_heads = 0;   // H; 0 = so that H P is nearest to 1.5 D (ours; Nemotron-3 has 1.52)
  int64_t ssm_head_width = 32;  // P; ours. 64 in mamba_ssm and Nemotron-3
  int64_t conv_width = 4;       // K, in both
  int64_t chunk = 64;  // tokens at once in (4): changes time and memory, not the function. Ours

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("d_state", d_state, at_least(1));
    v.number("num_groups", num_groups, at_least(1));
    v.number("ssm_heads", ssm_heads, at_least(0));
    v.number("ssm_head_width", ssm_head_width, at_least(1));
    v.number("conv_width", conv_width, at_least(1));
    v.number("chunk", chunk, at_least(1));
  }
  /// Fills ssm_heads in. Throws UserError when a number is not positive or G does not divide H.
  void resolve(int64_t width);
};

/// Where the architectures differ.
struct Mamba2Form {
  std::string gate_norm = "rms";  // norm of (5): rms, l2 or none
  int64_t norm_groups = 1;        // groups of rms
  double norm_eps = 1e-5;         // under the root: to the mean square (rms) or to the sum (l2)
  double input_scale = 0;   // s = stored * this, the stored scalar learned; 0: s = 1, not learned
  double dt_row_scale = 1;  // r
};

/// What the tokens so far leave behind, for streaming.
struct Mamba2State {
  torch::Tensor conv;  // [B, K - 1, H P + 2 G N], the last inputs of (2)
  torch::Tensor ssm;   // [B, H, P, N]
};

struct Mamba2Impl : torch::nn::Module {
  Mamba2Impl(int64_t width, const Mamba2Options& mamba_options, const Mamba2Form& mamba_form)
      : options(mamba_options), form(mamba_form) {
    const int64_t channels = conv_channels();
    const int64_t rows = inner() + channels + options.ssm_heads;
    in_proj = register_module("in_proj", Weight(at::IntArrayRef{rows, width}));
    if (form.input_scale != 0) input_scale = register_parameter("input_scale", new_parameter({}));
    conv = register_module("conv", Weight(at::IntArrayRef{channels, 1, options.conv_width}));
    conv_bias = conv->register_parameter("bias", new_parameter({channels}));
    dt_bias = register_parameter("dt_bias", new_parameter({options.ssm_heads}));
    A_log = register_parameter("A_log", new_parameter({options.ssm_heads}));
    D = register_parameter("D", new_parameter({options.ssm_heads}));
    if (form.gate_norm == "rms") norm = register_module("norm", Weight(at::IntArrayRef{inner()}));
    out_proj = register_module("out_proj", Weight(at::IntArrayRef{width, inner()}));
  }

  /// u: [B, T, D]. With a `state`, u follows what the state has seen, and one token at a time is
  /// the recurrence itself.
  torch::Tensor forward(const torch::Tensor& u, Mamba2State* state = nullptr) {
    const auto s = s_mamba();
    const auto parts = ops::linear(s.defined() ? u * s.to(u.scalar_type()) : u, in_proj->weight)
                           .split_with_sizes({inner(), conv_channels(), options.ssm_heads}, -1);
    const auto dt = step_sizes(parts[2]);  // [B, T, H]
    const auto mixed = torch::silu(convolve(parts[1], state));
    const auto xbc = mixed.split_with_sizes({inner(), group_width(), group_width()}, -1);
    const auto y = scan({.x = split_heads(xbc[0], options.ssm_heads),
                         .dt = dt,
                         .A = -ops::reference::widen(A_log).exp(),
                         .B = split_heads(xbc[1], options.num_groups),
                         .C = split_heads(xbc[2], options.num_groups),
                         .D = D},
                        state);
    const auto gated = ops::swiglu(parts[0], merge_heads(y));
    return ops::linear(normalized(gated), out_proj->weight);  // (5)
  }

  /// (3), fp32 or wider; keeps mean, least and largest for diagnostics while training.
  torch::Tensor step_sizes(const torch::Tensor& dt) {
    const auto raw = ops::reference::widen(dt);
    const auto shifted = (form.dt_row_scale == 1 ? raw : raw * form.dt_row_scale) + dt_bias;
    const auto steps = torch::softplus(shifted);
    if (at::GradMode::is_enabled()) keep_dt(steps.detach());
    return steps;
  }

  /// The s of (1) that is used; undefined when there is none.
  torch::Tensor s_mamba() const {
    return input_scale.defined() ? input_scale * form.input_scale : torch::Tensor();
  }

  /// What is not a matrix, as in mamba_ssm: A uniform in [1, 16], dt log-uniform in [1e-3, 0.1]
  /// through dt_bias, convolution uniform in +-1 / sqrt(K), D and gain 1. dt_seen is that of an
  /// input of zeros, until a training pass has seen another.
  void reset_vectors_(uint64_t seed, const std::string& prefix) {
    torch::NoGradGuard no_grad;
    const double bound = 1 / std::sqrt(static_cast<double>(options.conv_width));
    const auto between = [&](torch::Tensor w, const std::string& name, auto value) {
      const RandomStream stream(seed, prefix + name);
      const auto numbers = torch::empty({w.numel()}, torch::kDouble);
      for (int64_t i = 0; i < w.numel(); ++i)
        numbers.data_ptr<double>()[i] = value(stream.uniform(static_cast<uint64_t>(i)));
      w.copy_(numbers.view(w.sizes()));
    };
    const auto symmetric = [bound](double r) { return bound * (2 * r - 1); };
    between(conv->weight, "conv.weight", symmetric);
    between(conv_bias, "conv.bias", symmetric);
    between(A_log, "A_log", [](double r) { return std::log(1 + 15 * r); });
    between(dt_bias, "dt_bias", [](double r) {
      const double dt = std::max(1e-4, std::exp(std::log(1e-3) + r * std::log(0.1 / 1e-3)));
      return dt + std::log(-std::expm1(-dt));  // softplus of it is dt
    });
    keep_dt(torch::softplus(dt_bias));
    D.fill_(1);
    if (!norm.is_empty()) norm->weight.fill_(1);
  }

  int64_t inner() const { return options.ssm_heads * options.ssm_head_width; }  // H P
  int64_t group_width() const { return options.num_groups * options.d_state; }  // G N
  int64_t conv_channels() const { return inner() + 2 * group_width(); }

  Mamba2Options options;
  Mamba2Form form;
  Weight in_proj{nullptr}, conv{nullptr}, norm{nullptr}, out_proj{nullptr};
  torch::Tensor conv_bias, dt_bias, A_log, D;
  torch::Tensor input_scale;  // stored value, no dimension
  torch::Tensor dt_seen;      // [3], mean, least and largest dt of the last training pass

 private:
  void keep_dt(const torch::Tensor& steps) {
    dt_seen = torch::stack({steps.mean(), steps.min(), steps.max()});
  }

  torch::Tensor convolve(const torch::Tensor& xbc, Mamba2State* state) {
    if (!state) return ops::causal_conv(xbc, conv->weight, conv_bias);
    const int64_t kept = options.conv_width - 1;
    const auto before = state->conv.defined()
                            ? state->conv
                            : torch::zeros({xbc.size(0), kept, xbc.size(2)}, xbc.options());
    state->conv = torch::cat({before, xbc}, 1).slice(1, xbc.size(1));
    return ops::causal_conv(xbc, conv->weight, conv_bias, before);
  }

  torch::Tensor scan(ops::SsdInput in, Mamba2State* state) {
    if (!state) return ops::ssd(in, options.chunk).y;
    in.state = state->ssm;
    const bool one = in.x.size(1) == 1 && in.state.defined();
    const auto result = one ? ops::ssd_step({.x = in.x.select(1, 0),
                                             .dt = in.dt.select(1, 0),
                                             .A = in.A,
                                             .B = in.B.select(1, 0),
                                             .C = in.C.select(1, 0),
                                             .D = in.D,
                                             .state = in.state})
                            : ops::ssd(in, options.chunk);
    state->ssm = result.state;
    return one ? result.y.unsqueeze(1) : result.y;
  }

  torch::Tensor normalized(const torch::Tensor& y) {
    if (form.gate_norm == "none") return y;
    if (form.gate_norm == "l2") return l2_norm(y, form.norm_eps, L2Eps::kSum);
    if (form.norm_groups == 1) return ops::rms_norm(y, norm->weight, form.norm_eps);
    const auto wide = ops::reference::widen(split_heads(y, form.norm_groups));
    const auto r = (wide.square().mean(-1, /*keepdim=*/true) + form.norm_eps).rsqrt();
    return (merge_heads(wide * r) * norm->weight).to(y.scalar_type());
  }
};
TORCH_MODULE(Mamba2);

}  // namespace normbench

// Where this differs from mamba_ssm: no clamp of dt (its default limits are 0 and infinity too).
