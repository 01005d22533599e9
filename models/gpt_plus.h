// GPT+: the baseline of anGPT. Franke et al., arXiv 2505.22014 v2, Table 1 and section 5: GPT with
// SwiGLU, RoPE, RMSNorm and QK-norm. Not here: DyT and LN scaling, which replace its norms.
//   h = E_e[tokens]                                                                           (1)
//   a = rms(h) gamma_a;  q, k, v = W_qkv a                                                    (2)
//   q = norm(q), k = norm(k);  h <- h + W_p (softmax_causal(g q k^T) v)                       (3)
//   m = rms(h) gamma_m;  u = W_u m, z = W_z m;  h <- h + W_d (u SiLU(z))                      (4)
//   logits = W_h (rms(h) gamma_h)                                                             (5)
// rms(x) = x / sqrt(mean x^2 + eps), norm(x) = x / ||x||_2 over a head.
// Names: W_p = attn.o, W_u = mlp.up, W_z = mlp.gate.
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
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"
#include "suite/ops/observe.h"
#include "suite/ops/swiglu.h"

namespace normbench {

struct GptPlusOptions {
  // From the paper.
  bool qk_norm = true;         // (3); off: no norm and no g, but the usual 1 / sqrt(Dh)
  double rope_fraction = 0.5;  // part of each head that is turned, Table F.2
  // The paper is silent.
  std::string g = "per_layer";      // one learned attention gain a layer, or one a head (per_head)
  double g_init = 0;                // first value of g; 0 = sqrt(Dh), nGPT's constant
  double rope_base = 10000;         // base of the angles
  std::string rope_pairs = "half";  // what turns together: half (NeoX), interleaved (RoFormer)
  double rms_eps = 1e-6;            // added to the mean square
  // Standard deviation of the weights; projections into the residual stream have it divided by
  // sqrt(2 L). scaled: 0.64 / sqrt(D), which is 0.02 at D = 1024. literal: 0.02 at every width, too
  // small for a narrow model.
  std::string init = "scaled";

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("qk_norm", qk_norm);
    v.number("rope_fraction", rope_fraction, share_above_zero());
    v.choice("g", g, {"per_layer", "per_head"});
    v.number("g_init", g_init, at_least(0));
    v.number("rope_base", rope_base, above(0));
    v.choice("rope_pairs", rope_pairs, {"half", "interleaved"});
    v.number("rms_eps", rms_eps, at_least(0));
    v.choice("init", init, {"scaled", "literal"});
  }
};

struct GptPlusAttentionImpl : torch::nn::Module {
  GptPlusAttentionImpl(const ModelSize& size, const GptPlusOptions& options,
                       std::shared_ptr<Rope> rope)
      : num_heads(size.num_heads), rms_eps(options.rms_eps), rope(std::move(rope)) {
    const int64_t inner = size.num_heads * size.head_width;
    norm = register_module("norm", Weight(at::IntArrayRef{size.width}));
    q = register_module("q", Weight(at::IntArrayRef{inner, size.width}));
    k = register_module("k", Weight(at::IntArrayRef{inner, size.width}));
    v = register_module("v", Weight(at::IntArrayRef{inner, size.width}));
    if (options.qk_norm)
      g = register_parameter("g", new_parameter({options.g == "per_head" ? size.num_heads : 1}));
    o = register_module("o", Weight(at::IntArrayRef{size.width, inner}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto a = ops::rms_norm(h, norm->weight, rms_eps);
    ops::see("attn.in", a);
    const auto qkv = ops::linear_many(a, {q->weight, k->weight, v->weight});  // (2)
    auto query = (*rope)(split_heads(qkv[0], num_heads));                     // [B, T, H, Dh]
    auto key = (*rope)(split_heads(qkv[1], num_heads));
    const auto value = split_heads(qkv[2], num_heads);
    double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
    if (g.defined()) {
      query =
          ops::l2_norm(query) * g.to(query.scalar_type()).unsqueeze(-1);  // g (q k^T) = (g q) k^T
      key = ops::l2_norm(key);
      scale = 1;
    }
    return ops::linear(merge_heads(ops::causal_attention(query, key, value, scale)),
                       o->weight);  // (3)
  }

  int64_t num_heads;
  double rms_eps;
  std::shared_ptr<Rope> rope;
  Weight norm{nullptr}, q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  torch::Tensor g;  // [1] or [H]; undefined without QK-norm
};
TORCH_MODULE(GptPlusAttention);

struct GptPlusMlpImpl : torch::nn::Module {
  GptPlusMlpImpl(const ModelSize& size, const GptPlusOptions& options) : rms_eps(options.rms_eps) {
    norm = register_module("norm", Weight(at::IntArrayRef{size.width}));
    gate = register_module("gate", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    up = register_module("up", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    down = register_module("down", Weight(at::IntArrayRef{size.width, size.mlp_width}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto m = ops::rms_norm(h, norm->weight, rms_eps);
    ops::see("mlp.in", m);
    const auto zu = ops::linear_many(m, {gate->weight, up->weight});  // [B, T, F] each
    return ops::linear(ops::swiglu(zu[0], zu[1]), down->weight);      // (4)
  }

  double rms_eps;
  Weight norm{nullptr}, gate{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(GptPlusMlp);

struct GptPlusBlockImpl : torch::nn::Module {
  GptPlusBlockImpl(const ModelSize& size, const GptPlusOptions& options, std::shared_ptr<Rope> rope)
      : attn(register_module("attn", GptPlusAttention(size, options, std::move(rope)))),
        mlp(register_module("mlp", GptPlusMlp(size, options))) {}

  torch::Tensor forward(torch::Tensor h) {
    const auto a = attn->forward(h);  // (3)
    ops::see("attn.out", a);
    h = h + a;
    const auto m = mlp->forward(h);  // (4)
    ops::see("mlp.out", m);
    return h + m;
  }

  GptPlusAttention attn;
  GptPlusMlp mlp;
};
TORCH_MODULE(GptPlusBlock);

class GptPlus : public Model {
 public:
  /// Throws UserError on an option out of range or without effect.
  GptPlus(const ModelSize& size, const GptPlusOptions& options) : size_(size), options_(options) {
    check_limits(options, "gpt_plus");
    if (!options.qk_norm) {
      check_unused("g", options.g, GptPlusOptions{}.g, "qk_norm is true");
      check_unused("g_init", options.g_init, GptPlusOptions{}.g_init, "qk_norm is true");
    }
    const auto rope =
        std::make_shared<Rope>(size, options.rope_fraction, options.rope_base, options.rope_pairs);
    embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    const auto list = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < size.num_layers; ++i) {
      blocks_.emplace_back(size, options, rope);
      list->push_back(blocks_.back());
    }
    final_norm_ = register_module("final_norm", Weight(at::IntArrayRef{size.width}));
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
  }

  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override {
    return head_logits(final_state(tokens, hidden), head_->weight);
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return head_loss(final_state(tokens, nullptr), head_->weight, std::nullopt, targets);
  }

  void reset_parameters(uint64_t seed) override {
    torch::NoGradGuard no_grad;
    const double std =
        options_.init == "literal" ? 0.02 : 0.64 / std::sqrt(static_cast<double>(size_.width));
    const double residual_std = std / std::sqrt(2.0 * static_cast<double>(size_.num_layers));
    const double g =
        options_.g_init != 0 ? options_.g_init : std::sqrt(static_cast<double>(size_.head_width));
    for (auto& item : named_parameters()) {
      if (item.value().dim() == 2)
        ops::fill_normal_(item.value(), writes_residual(item.key()) ? residual_std : std, seed,
                          item.key());
      else
        item.value().fill_(is_named(item.key(), "g") ? g : 1);  // gains start at 1
    }
  }

  std::vector<ParameterGroup> parameter_groups() override {
    return groups_without_constraint(*this);
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());  // (1)
    for (auto& block : blocks_) {
      h = block->forward(h);
      if (hidden) hidden->push_back(h);
    }
    return ops::rms_norm(h, final_norm_->weight, options_.rms_eps);  // (5)
  }

  ModelSize size_;
  GptPlusOptions options_;
  Weight embed_{nullptr}, final_norm_{nullptr}, head_{nullptr};
  std::vector<GptPlusBlock> blocks_;
};

}  // namespace normbench

// Where this differs from the paper: it gives neither the initialisation (option init) nor the
// formula without QK-norm.
