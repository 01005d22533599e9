// nGPT, the transformer on the unit sphere. Loshchilov et al., arXiv 2410.01131 v2,
// sections 2.1-2.6, and its public code NVIDIA/ngpt, which differs in named options. Not here: the
// Mamba-2 hybrid, and anGPT, which bounds instead.
//   logits = s_z (E_out h)                                                                    (3)
//   h <- norm(h + alpha_a (norm(attention(h)) - h))                                          (10)
//   h <- norm(h + alpha_m (norm(mlp(h)) - h))                                                (11)
//   q <- s_qk norm(q), k <- s_qk norm(k), after RoPE, a head at a time                   (15, 16)
//   attention(h) = W_p (softmax_causal(sqrt(Dh) q k^T) v)                                    (16)
//   u <- s_u u, v <- sqrt(D) s_v v; mlp = W_o (u SiLU(v))                                (20, 21)
// norm(x) = x / ||x||_2 over the last dimension. A scale is stored as s^ (first value s_scale) and
// used as s = s^ s_init / s_scale, so that Adam moves it s_init / s_scale times as fast (2.5).
// Every weight has unit norm along D after each step: rows, but columns of attn.o and mlp.down.
// Names: W_p = attn.o, u = mlp.up, v = mlp.gate, W_o = mlp.down, s_u = scale_up, s_v = scale_gate,
// s_z = head.scale, E_in = embed.
// B batch, T tokens, D model width, H heads, Dh head width, F MLP width, V vocabulary.
#pragma once

#include <torch/nn/module.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/layers.h"
#include "models/model.h"
#include "suite/ops/attention.h"
#include "suite/ops/initialize.h"
#include "suite/ops/lerp.h"
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"
#include "suite/ops/observe.h"
#include "suite/ops/swiglu.h"

namespace normbench {

struct NgptOptions {
  // From the paper, sections 2.5 and 2.6.
  double alpha_init = 0.05;  // residual step size at step 0, "of the order of 1 / num_layers"
  double sqk_init = 1;       // s_qk at step 0
  double suv_init = 1;       // s_u and s_v at step 0
  double sz_init = 1;        // s_z at step 0
  double s_scale = 0;        // stored first value of alpha, s_qk and s_z; 0 = 1 / sqrt(D)
  double alpha_scale = 0;    // the same for alpha alone; 0 = s_scale
  double sqk_scale = 0;      // the same for s_qk alone; 0 = s_scale
  double sz_scale = 0;       // the same for s_z alone; 0 = s_scale
  double suv_scale = 1;      // stored first value of s_u and s_v
  double rope_base = 10000;  // base of the angles
  // Where the paper, its code and the anGPT paper's Table 1 part.
  // The h inside (10), (11): code = norm(h); none = h; entry = h, normalised once after E_in.
  std::string residual_norm = "code";
  // sqrt(D) on both halves of the MLP (code) or on the gate (paper); the one on u cancels.
  std::string sqrt_d_on = "both";
  // One shared s_qk for q and k (code, and the parameter counts), or separate s_q and s_k.
  std::string qk_scale = "shared";
  bool alpha_abs = true;     // use |alpha| (code)
  double rope_fraction = 1;  // part of each head that is turned; the anGPT paper turns one half
  // What turns together: interleaved, half, or published, the code's table, which is no rotation.
  std::string rope_pairs = "interleaved";
  // Steps from nGPT to anGPT, arXiv 2505.22014 v2, Figure 5. corrected: (10), (11) with the factor
  // nu(alpha) of that paper in place of the norm of the sum. bound: rows of at most 1, along the
  // input, as that paper has them, in place of rows (or columns) of exactly 1.
  std::string lerp = "normalized";
  std::string rows = "unit";
  // Gradient preconditioning of the logits (suite/ops/logit_gradient.h), arXiv 2608.01284.
  bool lgp = false;
  double lgp_q = 1;  // exponent of s_z / mean(s_z)

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("alpha_init", alpha_init, above(0));
    v.number("sqk_init", sqk_init, above(0));
    v.number("suv_init", suv_init, above(0));
    v.number("sz_init", sz_init, above(0));
    v.number("s_scale", s_scale, at_least(0));
    v.number("alpha_scale", alpha_scale, at_least(0));
    v.number("sqk_scale", sqk_scale, at_least(0));
    v.number("sz_scale", sz_scale, at_least(0));
    v.number("suv_scale", suv_scale, above(0));
    v.number("rope_base", rope_base, above(0));
    v.choice("residual_norm", residual_norm, {"code", "none", "entry"});
    v.choice("sqrt_d_on", sqrt_d_on, {"both", "gate"});
    v.choice("qk_scale", qk_scale, {"shared", "separate"});
    v.field("alpha_abs", alpha_abs);
    v.number("rope_fraction", rope_fraction, share_above_zero());
    v.choice("rope_pairs", rope_pairs, {"interleaved", "half", "published"});
    v.choice("lerp", lerp, {"normalized", "corrected"});
    v.added("lerp");
    v.choice("rows", rows, {"unit", "bound"});
    v.added("rows");
    v.field("lgp", lgp);
    v.added("lgp");
    v.number("lgp_q", lgp_q, at_least(0));
    v.added("lgp_q");
  }

  /// Replaces the zeros that stand for "as usual". Throws UserError on an option out of range or
  /// without effect.
  void resolve(const ModelSize& size) {
    check_limits(*this, "ngpt");
    if (!lgp) check_unused("lgp_q", lgp_q, NgptOptions{}.lgp_q, "lgp is true");
    if (lerp == "corrected" && residual_norm == "code")  // which norms the sum that is not there
      check_unused("residual_norm", residual_norm, "none", "lerp is \"normalized\"");
    if (alpha_scale > 0 && sqk_scale > 0 && sz_scale > 0)
      check_unused("s_scale", s_scale, NgptOptions{}.s_scale, "one of the three is left to it");
    if (s_scale == 0) s_scale = 1 / std::sqrt(static_cast<double>(size.width));
    for (double* scale : {&alpha_scale, &sqk_scale, &sz_scale})
      if (*scale == 0) *scale = s_scale;
  }
  /// The alpha that is used, [D].
  torch::Tensor alpha(const torch::Tensor& stored) const {
    const auto used = stored * (alpha_init / alpha_scale);
    return alpha_abs ? used.abs() : used;
  }
};

struct NgptAttentionImpl : torch::nn::Module {
  NgptAttentionImpl(const ModelSize& size, const NgptOptions& options, std::shared_ptr<Rope> rope)
      : num_heads(size.num_heads), options(options), rope(std::move(rope)) {
    const int64_t inner = size.num_heads * size.head_width;
    q = register_module("q", Weight(at::IntArrayRef{inner, size.width}));
    k = register_module("k", Weight(at::IntArrayRef{inner, size.width}));
    v = register_module("v", Weight(at::IntArrayRef{inner, size.width}));
    if (options.qk_scale == "shared") {
      q_scale = k_scale = register_parameter("qk_scale", new_parameter({inner}));
    } else {
      q_scale = register_parameter("q_scale", new_parameter({inner}));
      k_scale = register_parameter("k_scale", new_parameter({inner}));
    }
    o = register_module("o", Weight(at::IntArrayRef{size.width, inner}));
    alpha = register_parameter("alpha", new_parameter({size.width}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto qkv = ops::linear_many(h, {q->weight, k->weight, v->weight});
    const auto query = ops::l2_norm((*rope)(split_heads(qkv[0], num_heads)));  // [B, T, H, Dh]
    const auto key = ops::l2_norm((*rope)(split_heads(qkv[1], num_heads)));
    const auto value = split_heads(qkv[2], num_heads);
    // (15, 16): (s_q q) (s_k k)^T = (s_q s_k q) k^T, one pass over q instead of two over q and k.
    const double used = options.sqk_init / options.sqk_scale;
    const auto scale = split_heads(used * used * q_scale * k_scale, num_heads);  // [H, Dh]
    const auto y = ops::causal_attention(query * scale.to(query.scalar_type()), key, value,
                                         std::sqrt(static_cast<double>(query.size(-1))));
    return ops::linear(merge_heads(y), o->weight);
  }
  torch::Tensor step_size() const { return options.alpha(alpha); }

  int64_t num_heads;
  NgptOptions options;
  std::shared_ptr<Rope> rope;
  Weight q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  torch::Tensor q_scale, k_scale,
      alpha;  // stored values: [D], head by head; the first two are one when shared
};
TORCH_MODULE(NgptAttention);

struct NgptMlpImpl : torch::nn::Module {
  NgptMlpImpl(const ModelSize& size, const NgptOptions& options)
      : options(options), sqrt_d(std::sqrt(static_cast<double>(size.width))) {
    gate = register_module("gate", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    up = register_module("up", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    scale_gate = register_parameter("scale_gate", new_parameter({size.mlp_width}));
    scale_up = register_parameter("scale_up", new_parameter({size.mlp_width}));
    down = register_module("down", Weight(at::IntArrayRef{size.width, size.mlp_width}));
    alpha = register_parameter("alpha", new_parameter({size.width}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const double used = options.suv_init / options.suv_scale;
    const auto s_u = scale_up * (options.sqrt_d_on == "both" ? used * sqrt_d : used);
    const auto s_v = scale_gate * (used * sqrt_d);
    // (20): s_u (W_u h) = (diag(s_u) W_u) h, which scales F x D numbers instead of B x T x F.
    const auto vu =
        ops::linear_many(h, {s_v.unsqueeze(1) * gate->weight, s_u.unsqueeze(1) * up->weight});
    return ops::linear(ops::swiglu(vu[0], vu[1]), down->weight);  // (21)
  }
  torch::Tensor step_size() const { return options.alpha(alpha); }

  NgptOptions options;
  double sqrt_d;
  Weight gate{nullptr}, up{nullptr}, down{nullptr};
  torch::Tensor scale_gate, scale_up, alpha;  // stored values: [F], [F], [D]
};
TORCH_MODULE(NgptMlp);

struct NgptBlockImpl : torch::nn::Module {
  NgptBlockImpl(const ModelSize& size, const NgptOptions& options, std::shared_ptr<Rope> rope)
      : attn(register_module("attn", NgptAttention(size, options, std::move(rope)))),
        mlp(register_module("mlp", NgptMlp(size, options))),
        corrected(options.lerp == "corrected"),
        inputs(options.residual_norm == "code" ? ops::LerpInputs::kNormalizeBoth
                                               : ops::LerpInputs::kNormalizeBranch) {}

  torch::Tensor forward(torch::Tensor h) {
    ops::see("attn.in", h);
    const auto a = attn->forward(h);
    ops::see("attn.out", a);
    h = update(h, a, attn->step_size());  // (10)
    ops::see("mlp.in", h);
    const auto m = mlp->forward(h);
    ops::see("mlp.out", m);
    return update(h, m, mlp->step_size());  // (11)
  }
  torch::Tensor update(const torch::Tensor& h, const torch::Tensor& branch,
                       const torch::Tensor& alpha) const {
    return corrected ? ops::scaled_lerp(h, branch, alpha, /*normalize_branch=*/true)
                     : ops::lerp_normalize(h, branch, alpha, inputs);
  }

  NgptAttention attn;
  NgptMlp mlp;
  bool corrected;
  ops::LerpInputs inputs;
};
TORCH_MODULE(NgptBlock);

class Ngpt : public Model {
 public:
  Ngpt(const ModelSize& size, NgptOptions options) : size_(size) {
    options.resolve(size);
    options_ = options;
    const auto rope =
        std::make_shared<Rope>(size, options.rope_fraction, options.rope_base, options.rope_pairs);
    embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    const auto list = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < size.num_layers; ++i) {
      blocks_.emplace_back(size, options, rope);
      list->push_back(blocks_.back());
    }
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    head_scale_ = head_->register_parameter("scale", new_parameter({size.vocabulary}));
  }

  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override {
    return head_logits(final_state(tokens, hidden), head_->weight, s_z());  // (3)
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return head_loss(final_state(tokens, nullptr), head_->weight, s_z(), targets,
                     options_.lgp ? std::optional(options_.lgp_q) : std::nullopt);
  }

  void reset_parameters(uint64_t seed) override {
    torch::NoGradGuard no_grad;
    for (auto& group : parameter_groups()) {
      if (group.tensor.dim() == 2) {
        ops::fill_normal_(group.tensor, 1 / std::sqrt(static_cast<double>(size_.width)), seed,
                          group.name);
        group.constraint = RowConstraint::kUnit;  // bound rows start at exactly 1 as well
        constrain_(group);
      } else {
        group.tensor.fill_(stored_first_value(group.name));
      }
    }
  }

  std::vector<ParameterGroup> parameter_groups() override {
    auto groups = groups_without_constraint(*this);
    for (auto& group : groups) {
      if (group.tensor.dim() != 2) continue;
      const bool bound = options_.rows == "bound";
      group.constraint = bound ? RowConstraint::kBound : RowConstraint::kUnit;
      group.axis = writes_residual(group.name) && !bound ? 0 : 1;  // unit: the axis of D
    }
    return groups;
  }

  std::vector<std::pair<std::string, torch::Tensor>> diagnostics() override {
    return mean_step_sizes(blocks_);
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());
    if (options_.residual_norm == "entry") h = ops::l2_norm(h);
    for (auto& block : blocks_) {
      h = block->forward(h);
      if (hidden) hidden->push_back(h);
    }
    return h;
  }
  torch::Tensor s_z() const { return head_scale_ * (options_.sz_init / options_.sz_scale); }
  double stored_first_value(const std::string& name) const {
    if (is_named(name, "alpha")) return options_.alpha_scale;
    if (is_named(name, "head.scale")) return options_.sz_scale;
    if (is_named(name, "scale_gate") || is_named(name, "scale_up")) return options_.suv_scale;
    return options_.sqk_scale;  // qk_scale, q_scale, k_scale
  }

  ModelSize size_;
  NgptOptions options_;
  Weight embed_{nullptr}, head_{nullptr};
  torch::Tensor head_scale_;  // [V], stored value
  std::vector<NgptBlock> blocks_;
};

}  // namespace normbench

// Where this differs from the paper: s_qk has an entry for each head and dimension, as in the code
// (the paper prints one head's). A vector of zeros stays zero instead of becoming NaN. The code
// starts the two projections into the stream smaller by sqrt(2 L), which the first normalisation
// undoes.
