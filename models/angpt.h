// anGPT, the approximately normalised transformer. Franke et al., arXiv 2505.22014 v2, Table 1,
// sections 4.2-4.3, appendices D and E. Not here: GPT+ and nGPT, its references. The authors' code
// was not available: options name what the text leaves open.
//   h = E_e[tokens]                                                                           (1)
//   q, k, v = nu_qkv W_qkv h;  q = norm(q), k = norm(k), after RoPE                           (2)
//   b = norm(nu_p W_p (softmax_causal(g q k^T) v));  h <- nu(alpha_a) (h + alpha_a (b - h))   (3)
//   u = nu_uz W_u h,  z = sqrt(D) nu_uz W_z h                                                 (4)
//   b = norm(nu_d W_d (nu_acf u SiLU(z)));           h <- nu(alpha_m) (h + alpha_m (b - h))   (5)
//   logits = s_z (W_h h)                                                                      (6)
// norm(x) = x / ||x||_2, nu(alpha) = (alpha^2 + (1 - alpha)^2)^(-1/2). A scale s is stored as s^
// (first value s_scale) and used as s^ s_init / s_scale. Every row of every matrix has norm at most
// 1 after each step, and exactly 1 at the start. The exact norms of q, k and b cancel every nu but
// the one on z: multiplying the others changes nothing (tested).
// Names: W_p = attn.o, W_u = mlp.up, W_z = mlp.gate, W_d = mlp.down, s_z = head.scale.
// B batch, T tokens, D model width, H heads, Dh head width, F MLP width, V vocabulary.
#pragma once

#include <torch/nn/module.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
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

struct AngptOptions {
  // From the paper. A nu of 0 stands for the paper's formula.
  double alpha_init = 0.05;    // residual step size at step 0
  double sz_init = 1;          // s_z at step 0
  double s_scale = 0.01;       // stored first value of alpha and s_z; Table F.2 has 0.001
  double alpha_scale = 0;      // the same for alpha alone; 0 = s_scale
  double sz_scale = 0;         // the same for s_z alone; 0 = s_scale
  double nu_qkv = 0;           // 0 = sqrt(D / Dh)
  double nu_p = 0;             // 0 = sqrt(Dh / D) (4.3); App. E has 1
  double nu_u = 0;             // 0 = sqrt(D / F)
  double nu_z = 0;             // 0 = sqrt(D / F); the only one with an effect
  double nu_acf = 3.74;        // 1 / sqrt(E[SiLU(n / 2)^2]) by Monte Carlo; 3.72035 by quadrature
  double nu_d = 0;             // 0 = sqrt(F / D)
  double rope_fraction = 0.5;  // part of each head that is turned, Table F.2
  // The paper is silent or contradicts itself.
  bool silu_sqrt_d = true;  // sqrt(D) on z: Table 1 omits it, nu_acf = 3.74 needs it
  // nu of each entry of alpha, one scalar from their mean, or none (1, an ablation).
  std::string nu_alpha = "elementwise";
  std::string g = "per_layer";      // one learned attention gain a layer, or one a head (per_head)
  double g_init = 0;                // first value of g; 0 = sqrt(Dh), nGPT's constant
  bool alpha_abs = false;           // use |alpha|, as nGPT's code does
  double rope_base = 10000;         // base of the angles
  std::string rope_pairs = "half";  // what turns together: half (NeoX), interleaved (RoFormer)
  // Ablations, Table L.1.
  double nu_factor = 1;        // on every nu of a matrix and of the activation, after its formula
  double nu_alpha_factor = 1;  // on nu(alpha)
  std::string residual = "lerp";  // sum: h <- nu (h + alpha b), nu = (1 + alpha^2)^(-1/2)

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("alpha_init", alpha_init, above(0));
    v.number("sz_init", sz_init, above(0));
    v.number("s_scale", s_scale, at_least(0));
    v.number("alpha_scale", alpha_scale, at_least(0));
    v.number("sz_scale", sz_scale, at_least(0));
    v.number("nu_qkv", nu_qkv, at_least(0));
    v.number("nu_p", nu_p, at_least(0));
    v.number("nu_u", nu_u, at_least(0));
    v.number("nu_z", nu_z, at_least(0));
    v.number("nu_acf", nu_acf, above(0));
    v.number("nu_d", nu_d, at_least(0));
    v.number("rope_fraction", rope_fraction, share_above_zero());
    v.field("silu_sqrt_d", silu_sqrt_d);
    v.choice("nu_alpha", nu_alpha, {"elementwise", "scalar", "none"});
    v.choice("g", g, {"per_layer", "per_head"});
    v.number("g_init", g_init, at_least(0));
    v.field("alpha_abs", alpha_abs);
    v.number("rope_base", rope_base, above(0));
    v.choice("rope_pairs", rope_pairs, {"half", "interleaved"});
    v.number("nu_factor", nu_factor, above(0));
    v.added("nu_factor");
    v.number("nu_alpha_factor", nu_alpha_factor, above(0));
    v.added("nu_alpha_factor");
    v.choice("residual", residual, {"lerp", "sum"});
    v.added("residual");
  }

  /// Replaces the zeros that stand for "as in the paper". Throws UserError on a scale that would
  /// give an infinite factor or would be without effect.
  void resolve(const ModelSize& size) {
    check_limits(*this, "angpt");
    if (alpha_scale > 0 && sz_scale > 0)
      check_unused("s_scale", s_scale, AngptOptions{}.s_scale, "one of the two is left to it");
    const auto set = [](double& value, double paper) { value = value == 0 ? paper : value; };
    const auto d = static_cast<double>(size.width), f = static_cast<double>(size.mlp_width);
    const auto h = static_cast<double>(size.head_width);
    set(nu_qkv, std::sqrt(d / h));
    set(nu_p, std::sqrt(h / d));
    set(nu_u, std::sqrt(d / f));
    set(nu_z, std::sqrt(d / f));
    set(nu_d, std::sqrt(f / d));
    set(g_init, std::sqrt(h));
    set(alpha_scale, s_scale);
    set(sz_scale, s_scale);
    check_option("alpha_scale", alpha_scale, alpha_scale > 0, "above 0, here or in s_scale");
    check_option("sz_scale", sz_scale, sz_scale > 0, "above 0, here or in s_scale");
    for (double* nu : {&nu_qkv, &nu_p, &nu_u, &nu_z, &nu_acf, &nu_d}) *nu *= nu_factor;
    nu_factor = 1;
  }
  /// The alpha that is used, [D].
  torch::Tensor alpha(const torch::Tensor& stored) const {
    const auto used = stored * (alpha_init / alpha_scale);
    return alpha_abs ? used.abs() : used;
  }
  /// The residual update as h <- keep h + add norm(branch); alpha: the effective value, [D].
  std::pair<torch::Tensor, torch::Tensor> keep_and_add(const torch::Tensor& alpha) const {
    const auto keep = residual == "sum" ? torch::ones_like(alpha) : 1 - alpha;
    const auto square = keep.square() + alpha.square();
    const auto nu = nu_alpha == "none"     ? torch::ones_like(alpha)
                    : nu_alpha == "scalar" ? square.mean().rsqrt()
                                           : square.rsqrt();
    return {nu_alpha_factor * nu * keep, nu_alpha_factor * nu * alpha};
  }
  /// The paper's own update, for which there is a fused operator.
  bool is_papers_update() const {
    return residual == "lerp" && nu_alpha != "none" && nu_alpha_factor == 1;
  }
};

struct AngptAttentionImpl : torch::nn::Module {
  AngptAttentionImpl(const ModelSize& size, const AngptOptions& options, std::shared_ptr<Rope> rope)
      : num_heads(size.num_heads),
        nu_qkv(options.nu_qkv),
        nu_p(options.nu_p),
        options(options),
        rope(std::move(rope)) {
    const int64_t inner = size.num_heads * size.head_width;
    q = register_module("q", Weight(at::IntArrayRef{inner, size.width}));
    k = register_module("k", Weight(at::IntArrayRef{inner, size.width}));
    v = register_module("v", Weight(at::IntArrayRef{inner, size.width}));
    g = register_parameter("g", new_parameter({options.g == "per_head" ? size.num_heads : 1}));
    o = register_module("o", Weight(at::IntArrayRef{size.width, inner}));
    alpha = register_parameter("alpha", new_parameter({size.width}));
  }

  // nu (W h) is computed as (nu W) h: a factor on D x D numbers instead of B x T x D.
  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto qkv =
        ops::linear_many(h, {nu_qkv * q->weight, nu_qkv * k->weight, nu_qkv * v->weight});  // (2)
    const auto query = ops::l2_norm((*rope)(split_heads(qkv[0], num_heads)));  // [B, T, H, Dh]
    const auto key = ops::l2_norm((*rope)(split_heads(qkv[1], num_heads)));
    const auto value = split_heads(qkv[2], num_heads);
    const auto gain = g.to(query.scalar_type()).unsqueeze(-1);  // g (q k^T) = (g q) k^T
    const auto y = ops::causal_attention(gain * query, key, value, /*scale=*/1);  // (3)
    return ops::linear(merge_heads(y), nu_p * o->weight);
  }
  torch::Tensor step_size() const { return options.alpha(alpha); }

  int64_t num_heads;
  double nu_qkv, nu_p;
  AngptOptions options;
  std::shared_ptr<Rope> rope;
  Weight q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  torch::Tensor g, alpha;  // [1] or [H]; [D], stored value
};
TORCH_MODULE(AngptAttention);

struct AngptMlpImpl : torch::nn::Module {
  AngptMlpImpl(const ModelSize& size, const AngptOptions& options)
      : nu_u(options.nu_u),
        nu_z(options.silu_sqrt_d ? options.nu_z * std::sqrt(static_cast<double>(size.width))
                                 : options.nu_z),
        nu_down(options.nu_d * options.nu_acf),
        options(options) {
    gate = register_module("gate", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    up = register_module("up", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    down = register_module("down", Weight(at::IntArrayRef{size.width, size.mlp_width}));
    alpha = register_parameter("alpha", new_parameter({size.width}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto zu =
        ops::linear_many(h, {nu_z * gate->weight, nu_u * up->weight});      // (4), [B, T, F] each
    return ops::linear(ops::swiglu(zu[0], zu[1]), nu_down * down->weight);  // (5)
  }
  torch::Tensor step_size() const { return options.alpha(alpha); }

  double nu_u, nu_z, nu_down;
  AngptOptions options;
  Weight gate{nullptr}, up{nullptr}, down{nullptr};
  torch::Tensor alpha;  // [D], stored value
};
TORCH_MODULE(AngptMlp);

struct AngptBlockImpl : torch::nn::Module {
  AngptBlockImpl(const ModelSize& size, const AngptOptions& options, std::shared_ptr<Rope> rope)
      : attn(register_module("attn", AngptAttention(size, options, std::move(rope)))),
        mlp(register_module("mlp", AngptMlp(size, options))),
        options(options) {}

  torch::Tensor forward(torch::Tensor h) {
    ops::see("attn.in", h);
    const auto a = attn->forward(h);
    ops::see("attn.out", a);
    h = update(h, a, attn->step_size());  // (3)
    ops::see("mlp.in", h);
    const auto m = mlp->forward(h);
    ops::see("mlp.out", m);
    return update(h, m, mlp->step_size());  // (5)
  }
  torch::Tensor update(const torch::Tensor& h, const torch::Tensor& branch,
                       const torch::Tensor& alpha) const {
    if (options.is_papers_update())
      return ops::scaled_lerp(
          h, branch, alpha, /*normalize_branch=*/true,
          options.nu_alpha == "scalar" ? ops::NuAlpha::kScalar : ops::NuAlpha::kElementwise);
    const auto [keep, add] = options.keep_and_add(alpha);
    return (keep * h + add * ops::l2_norm(branch)).to(h.scalar_type());
  }

  AngptAttention attn;
  AngptMlp mlp;
  AngptOptions options;
};
TORCH_MODULE(AngptBlock);

class Angpt : public Model {
 public:
  Angpt(const ModelSize& size, AngptOptions options) : size_(size) {
    options.resolve(size);
    options_ = options;
    rope_ =
        std::make_shared<Rope>(size, options.rope_fraction, options.rope_base, options.rope_pairs);
    embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    const auto list = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < size.num_layers; ++i) {
      blocks_.emplace_back(size, options, rope_);
      list->push_back(blocks_.back());
    }
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    head_scale_ = head_->register_parameter("scale", new_parameter({size.vocabulary}));
  }

  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override {
    return head_logits(final_state(tokens, hidden), head_->weight, s_z());  // (6)
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return head_loss(final_state(tokens, nullptr), head_->weight, s_z(), targets);
  }

  void reset_parameters(uint64_t seed) override {
    torch::NoGradGuard no_grad;
    for (auto& group : parameter_groups()) {
      if (group.tensor.dim() == 2) {
        ops::fill_normal_(group.tensor, 1 / std::sqrt(static_cast<double>(size_.width)), seed,
                          group.name);
        group.constraint = RowConstraint::kUnit;  // rows start at exactly 1
        constrain_(group);
      } else {
        group.tensor.fill_(is_named(group.name, "alpha")        ? options_.alpha_scale
                           : is_named(group.name, "head.scale") ? options_.sz_scale
                                                                : options_.g_init);
      }
    }
  }

  std::vector<ParameterGroup> parameter_groups() override {
    auto groups = groups_without_constraint(*this);
    for (auto& group : groups)
      if (group.tensor.dim() == 2)
        group.constraint = RowConstraint::kBound;  // every row, along the input dimension
    return groups;
  }

  const ModelSize& size() const { return size_; }
  const AngptOptions& options() const { return options_; }  // resolved

  std::vector<std::pair<std::string, torch::Tensor>> diagnostics() override {
    return mean_step_sizes(blocks_);
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());  // (1)
    for (auto& block : blocks_) {
      h = block->forward(h);
      if (hidden) hidden->push_back(h);
    }
    return h;
  }
  torch::Tensor s_z() const { return head_scale_ * (options_.sz_init / options_.sz_scale); }

  ModelSize size_;
  AngptOptions options_;
  std::shared_ptr<Rope> rope_;
  Weight embed_{nullptr}, head_{nullptr};
  torch::Tensor head_scale_;  // [V], stored value
  std::vector<AngptBlock> blocks_;
};

}  // namespace normbench

// Where this differs from the paper: 4.3 prints nu(alpha) without its exponent -1/2. A vector of
// zeros stays zero instead of becoming NaN. The first-value rule of g, and where the bound is
// imposed, are ours (options; after each step).
