// The normalised hybrid: nGPT's residual update around Mamba-2, experts, attention without
// positions and dense MLPs. Loshchilov & Ginsburg, "Training nGPT", arXiv 2608.01284; where it is
// silent, anonymous452026/ngpt-nvfp4@ac59c995 (arXiv 2605.06067) or a named option.
//   h_0 = norm(E_in[token]);  logits = s_z (E_out h)                                          (1)
//   h <- norm(h + alpha_i (norm(mixer_i(h)) - h)), one mixer a layer, by the pattern          (2)
//   M: Mamba-2 of s_mamba h, without its gated norm: W_out (y SiLU(z))          mamba2.h      (3)
//   E: experts of h, router of s_moe h                                          moe.h         (4)
//   *: q <- s_qk^2 norm(q), k <- norm(k) per head;  W_o (softmax_causal(sqrt(Dh) q k^T) v)    (5)
//   -: W_down relu(s_u W_up h)^2,  or  W_down ((s_u W_up h) SiLU(sqrt(D) s_v W_gate h))       (6)
// norm(x) = x / ||x||_2. fngpt: also norm of what enters W_out, W_o and W_down. Scales are stored
// (first value: scale) and used as stored * init / scale; s_mamba, s_moe: numbers. (6) is that of
// an expert too. Its second form, `activation` swiglu, is the MLP of ngpt.h (20, 21): relu^2 does
// not see a common factor of its input behind the norm of (2), SiLU does, hence sqrt(D).
// Every matrix has unit norm along D after each step: rows, but columns of out_proj, o and down.
// B batch, T tokens, D model width, H heads, K heads of k and v, Dh head width, V vocabulary.
#pragma once

#include <torch/nn/module.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/hybrid.h"
#include "models/layers.h"
#include "suite/ops/attention.h"
#include "suite/ops/initialize.h"
#include "suite/ops/lerp.h"

namespace normbench {

struct NgptHybridOptions {
  HybridOptions hybrid = {};
  // ngpt-nvfp4 (and nGPT, section 2.5).
  double alpha_init = 0.05;  // residual step size at step 0; 0.1 in a later recipe
  double alpha_scale = 0;    // its stored first value; 0 = 1 / sqrt(D)
  bool alpha_abs = true;     // use |alpha|
  double s_qk_init = 1;      // s_qk at step 0, one vector a head of q
  double s_qk_scale = 0;     // 0 = 1 / sqrt(D)
  double s_z_init = 1;       // s_z at step 0
  double s_z_scale = 0;      // 0 = 1 / sqrt(D)
  // Learned vectors on the hidden pre-activations of (6); off: s_u = s_v = 1. relu2 has sqrt(D)
  // s_u.
  bool s_uv = false;
  double s_uv_init = 1, s_uv_scale = 1;
  bool fngpt = false;  // norms of the vectors that enter W_out, W_o and W_down
  // arXiv 2608.01284: scalars that put the inputs of SiLU, softplus and sigmoid in range. Their
  // first values are ours: with ||h|| = 1 and unit rows they make pre-activations of size 1.
  double s_mamba_init = 0, s_mamba_scale = 1;  // init 0 = sqrt(D)
  double s_moe_init = 0, s_moe_scale = 1;
  bool router_normalised = true;  // unit rows of the router ("all linear projections"); off: nvfp4
  // Ours.
  double dt_row_scale = 1;  // factor of dt; the dt rows start with std 1, in Mamba-2 with 0.58
  bool embed_norm = true;   // the norm of (1), in the graph: the embedding's gradient is tangential
  double norm_eps = 1e-12;  // added to the sum of squares in fngpt's norms
  bool lgp = false;         // gradient preconditioning of the logits (suite/ops/logit_gradient.h)
  double lgp_q = 1;         // its exponent
  // (6), of MLP and experts: relu2 (Nemotron-3, nvfp4) or swiglu (nGPT).
  std::string activation = "relu2";

  template <class Visitor>
  void fields(Visitor& v) {
    hybrid.fields(v);
    v.number("alpha_init", alpha_init, above(0));
    v.number("alpha_scale", alpha_scale, at_least(0));
    v.field("alpha_abs", alpha_abs);
    v.number("s_qk_init", s_qk_init, above(0));
    v.number("s_qk_scale", s_qk_scale, at_least(0));
    v.number("s_z_init", s_z_init, above(0));
    v.number("s_z_scale", s_z_scale, at_least(0));
    v.field("s_uv", s_uv);
    v.number("s_uv_init", s_uv_init, above(0));
    v.number("s_uv_scale", s_uv_scale, above(0));
    v.field("fngpt", fngpt);
    v.number("s_mamba_init", s_mamba_init, at_least(0));
    v.number("s_mamba_scale", s_mamba_scale, above(0));
    v.number("s_moe_init", s_moe_init, at_least(0));
    v.number("s_moe_scale", s_moe_scale, above(0));
    v.field("router_normalised", router_normalised);
    v.number("dt_row_scale", dt_row_scale, above(0));
    v.field("embed_norm", embed_norm);
    v.number("norm_eps", norm_eps, at_least(0));
    v.field("lgp", lgp);
    v.number("lgp_q", lgp_q, at_least(0));
    v.choice("activation", activation, {"relu2", "swiglu"});
    v.added("activation");
  }

  /// Throws UserError on an option out of range or without effect.
  void check() const {
    const NgptHybridOptions unused;
    check_limits(*this, "ngpt_hybrid");
    const bool mixer = hybrid.has('M'), experts = hybrid.has('E');
    if (!mixer) {
      check_unused("s_mamba_init", s_mamba_init, unused.s_mamba_init, "the pattern has M");
      check_unused("s_mamba_scale", s_mamba_scale, unused.s_mamba_scale, "the pattern has M");
      check_unused("dt_row_scale", dt_row_scale, unused.dt_row_scale, "the pattern has M");
    }
    if (!experts) {
      check_unused("s_moe_init", s_moe_init, unused.s_moe_init, "the pattern has E");
      check_unused("s_moe_scale", s_moe_scale, unused.s_moe_scale, "the pattern has E");
      check_unused("router_normalised", router_normalised, unused.router_normalised,
                   "the pattern has E");
    }
    if (!hybrid.has('*')) {
      check_unused("s_qk_init", s_qk_init, unused.s_qk_init, "the pattern has *");
      check_unused("s_qk_scale", s_qk_scale, unused.s_qk_scale, "the pattern has *");
    }
    if (!experts && !hybrid.has('-')) {
      check_unused("s_uv", s_uv, unused.s_uv, "the pattern has E or -");
      check_unused("activation", activation, unused.activation, "the pattern has E or -");
    }
    if (!s_uv) {
      check_unused("s_uv_init", s_uv_init, unused.s_uv_init, "s_uv is true");
      check_unused("s_uv_scale", s_uv_scale, unused.s_uv_scale, "s_uv is true");
    }
    if (fngpt)
      check_option("norm_eps", norm_eps, norm_eps >= 1e-30, "1e-30 or more: relu^2 can be all 0");
    else
      check_unused("norm_eps", norm_eps, unused.norm_eps, "fngpt is true");
    if (!lgp) check_unused("lgp_q", lgp_q, unused.lgp_q, "lgp is true");
  }
  /// Replaces the zeros that stand for "as usual". Throws UserError as check() does.
  void resolve(const ModelSize& size) {
    check();
    hybrid.resolve(size);
    const double sqrt_d = std::sqrt(static_cast<double>(size.width));
    for (double* scale : {&alpha_scale, &s_qk_scale, &s_z_scale})
      if (*scale == 0) *scale = 1 / sqrt_d;
    if (hybrid.has('M') && s_mamba_init == 0) s_mamba_init = sqrt_d;
    if (hybrid.has('E') && s_moe_init == 0) s_moe_init = sqrt_d;
  }
  Mamba2Form mamba_form() const {
    return {.gate_norm = fngpt ? "l2" : "none",
            .norm_eps = norm_eps,
            .input_scale = s_mamba_init / s_mamba_scale,
            .dt_row_scale = dt_row_scale};
  }
  MoeForm moe_form(const ModelSize& size) const {
    const double sqrt_d = std::sqrt(static_cast<double>(size.width));
    const bool swiglu = activation == "swiglu";
    return {.activation = activation,
            .router_scale = s_moe_init / s_moe_scale,
            .hidden_scale = s_uv ? s_uv_init / s_uv_scale * (swiglu ? 1 : sqrt_d) : 0,
            .gate_factor = swiglu ? sqrt_d : 1,
            .hidden_norm = fngpt,
            .norm_eps = norm_eps};
  }
};

struct NgptHybridAttentionImpl : torch::nn::Module {  // (5)
  NgptHybridAttentionImpl(const ModelSize& size, const NgptHybridOptions& ngpt_options)
      : num_heads(size.num_heads),
        num_kv_heads(ngpt_options.hybrid.num_kv_heads),
        options(ngpt_options) {
    const int64_t inner = num_heads * size.head_width, kv_inner = num_kv_heads * size.head_width;
    q = register_module("q", Weight(at::IntArrayRef{inner, size.width}));
    k = register_module("k", Weight(at::IntArrayRef{kv_inner, size.width}));
    v = register_module("v", Weight(at::IntArrayRef{kv_inner, size.width}));
    qk_scale = register_parameter("qk_scale", new_parameter({num_heads, size.head_width}));
    o = register_module("o", Weight(at::IntArrayRef{size.width, inner}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto qkv = ops::linear_many(h, {q->weight, k->weight, v->weight});
    const auto query = ops::l2_norm(split_heads(qkv[0], num_heads));   // [B, T, H, Dh]
    const auto key = ops::l2_norm(split_heads(qkv[1], num_kv_heads));  // [B, T, K, Dh]
    const auto value = split_heads(qkv[2], num_kv_heads);
    const auto s_qk = qk_scale * (options.s_qk_init / options.s_qk_scale);
    auto y =
        merge_heads(ops::causal_attention(query * s_qk.square().to(query.scalar_type()), key, value,
                                          std::sqrt(static_cast<double>(query.size(-1)))));
    if (options.fngpt) y = l2_norm(y, options.norm_eps, L2Eps::kSum);  // all heads together
    return ops::linear(y, o->weight);
  }

  int64_t num_heads, num_kv_heads;
  NgptHybridOptions options;
  Weight q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  torch::Tensor qk_scale;  // stored values, [H, Dh]
};
TORCH_MODULE(NgptHybridAttention);

struct NgptHybridBlockImpl : torch::nn::Module {
  NgptHybridBlockImpl(const ModelSize& size, const NgptHybridOptions& ngpt_options, char letter)
      : options(ngpt_options) {
    if (letter == 'M')
      mamba =
          register_module("mamba", Mamba2(size.width, options.hybrid.mamba, options.mamba_form()));
    if (letter == 'E')
      moe = register_module("moe", Moe(size.width, options.hybrid.moe, options.moe_form(size)));
    if (letter == '*') attn = register_module("attn", NgptHybridAttention(size, options));
    if (letter == '-')
      mlp = register_module("mlp",
                            FeedForward(size.width, size.mlp_width, options.moe_form(size), true));
    alpha = children().front()->register_parameter("alpha", new_parameter({size.width}));
  }

  torch::Tensor forward(const torch::Tensor& h, torch::Tensor* balance) {  // (2)
    return ops::lerp_normalize(h, mixer(h, balance), step_size(),
                               ops::LerpInputs::kNormalizeBranch);
  }
  torch::Tensor mixer(const torch::Tensor& h, torch::Tensor* balance) {
    if (!mamba.is_empty()) return mamba->forward(h);
    if (!moe.is_empty()) return moe->forward(h, balance);
    return attn.is_empty() ? mlp->forward(h) : attn->forward(h);
  }
  torch::Tensor step_size() const {
    const auto used = alpha * (options.alpha_init / options.alpha_scale);
    return options.alpha_abs ? used.abs() : used;
  }

  NgptHybridOptions options;
  Mamba2 mamba{nullptr};  // one of these four
  Moe moe{nullptr};
  NgptHybridAttention attn{nullptr};
  FeedForward mlp{nullptr};
  torch::Tensor alpha;  // stored values, [D]; named as a part of the mixer
};
TORCH_MODULE(NgptHybridBlock);

class NgptHybrid : public Model {
 public:
  NgptHybrid(const ModelSize& size, NgptHybridOptions options) : size_(size) {
    options.resolve(size);
    options_ = options;
    embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    const auto list = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < size.num_layers; ++i) {
      blocks_.emplace_back(size, options, options.hybrid.letter(i));
      list->push_back(blocks_.back());
    }
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    head_scale_ = head_->register_parameter("scale", new_parameter({size.vocabulary}));
  }

  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override {
    return head_logits(final_state(tokens, hidden, nullptr), head_->weight, s_z());  // (1)
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    torch::Tensor balance;
    const auto h = final_state(tokens, nullptr, at::GradMode::is_enabled() ? &balance : nullptr);
    const auto lgp_q = options_.lgp ? std::optional<double>(options_.lgp_q) : std::nullopt;
    return with_gradient_of(head_loss(h, head_->weight, s_z(), targets, lgp_q), balance);
  }
  void after_step() override { hybrid_after_step(*this); }
  std::vector<std::pair<std::string, torch::Tensor>> diagnostics() override {
    return hybrid_diagnostics(*this);
  }

  void reset_parameters(uint64_t seed) override {
    torch::NoGradGuard no_grad;
    for (auto& group : parameter_groups()) {
      if (is_matrix(group)) {
        ops::fill_normal_(group.tensor, 1 / std::sqrt(static_cast<double>(size_.width)), seed,
                          group.name);
        constrain_(group);
      } else {
        group.tensor.fill_(stored_first_value(group.name));
      }
    }
    hybrid_reset_vectors_(*this, seed);
  }

  std::vector<ParameterGroup> parameter_groups() override {
    auto groups = groups_without_constraint(*this);
    for (auto& group : groups) {
      group.decay = is_matrix(group);
      if (!is_matrix(group)) continue;
      if (is_named(group.name, "router.weight") && !options_.router_normalised) continue;
      group.constraint = RowConstraint::kUnit;
      group.axis = hybrid_writes_residual(group.name) ? 0 : 1;  // the axis of D
    }
    return groups;
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden,
                            torch::Tensor* balance) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());
    if (options_.embed_norm) h = ops::l2_norm(h);
    for (auto& block : blocks_) {
      h = block->forward(h, balance);
      if (hidden) hidden->push_back(h);
    }
    return h;
  }
  torch::Tensor s_z() const { return head_scale_ * (options_.s_z_init / options_.s_z_scale); }
  static bool is_matrix(const ParameterGroup& group) {  // not the convolution, not s_qk
    return group.tensor.dim() == 2 && is_named(group.name, "weight");
  }
  double stored_first_value(const std::string& name) const {
    if (is_named(name, "alpha")) return options_.alpha_scale;
    if (is_named(name, "head.scale")) return options_.s_z_scale;
    if (is_named(name, "scale_up") || is_named(name, "scale_gate")) return options_.s_uv_scale;
    if (is_named(name, "input_scale")) return options_.s_mamba_scale;
    if (is_named(name, "router_scale")) return options_.s_moe_scale;
    return options_.s_qk_scale;  // qk_scale; what Mamba-2 has of its own is set after this
  }

  ModelSize size_;
  NgptHybridOptions options_;
  Weight embed_{nullptr}, head_{nullptr};
  torch::Tensor head_scale_;  // [V], stored value
  std::vector<NgptHybridBlock> blocks_;
};

}  // namespace normbench

// Where this differs from ngpt-nvfp4: RMSNorms are gone (arXiv 2608.01284); exactly one residual
// update a layer (the code moves each position of a single-mixer layer a second time); rows are
// unit before step 1 too; a vector of zeros stays zero instead of becoming NaN. Only fngpt's norms
// have an eps: the others' vectors are never near zero.
