// The pre-norm transformer that the normalised ones are compared with: RMSNorm, RoPE, SwiGLU, no
// biases, untied head. With the defaults it is the un-normalised GPT of NVIDIA/ngpt (the baseline
// of arXiv 2410.01131), but with a true rotation in place of its position table (models/README.md).
// Not here: GPT+, which turns half of a head.
//   a = rms(h) gamma_a;  q, k, v = W_qkv a;  h <- h + W_o (softmax_causal(q k^T / sqrt(Dh)) v) (1)
//   m = rms(h) gamma_m;  h <- h + W_down ((W_up m) SiLU(W_gate m))                            (2)
//   logits = W_head (rms(h) gamma)                                                            (3)
// rms(x) = x / sqrt(mean x^2 + eps).
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
#include "suite/ops/swiglu.h"

namespace normbench {

struct LlamaPrenormOptions {
  // From the published code.
  double rope_fraction = 1;                // part of each head that is turned
  double rope_base = 10000;                // base of the angles
  std::string rope_pairs = "interleaved";  // which entries turn together: interleaved or half
  double rms_eps = 1e-6;                   // added to the mean square
  // Standard deviation of the weights; projections into the residual stream have it divided by
  // sqrt(2 L). scaled: 0.64 / sqrt(D), which is 0.02 at D = 1024. literal: 0.02 at every width, as
  // published.
  std::string init = "scaled";

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("rope_fraction", rope_fraction);
    v.field("rope_base", rope_base);
    v.choice("rope_pairs", rope_pairs, {"interleaved", "half"});
    v.field("rms_eps", rms_eps);
    v.choice("init", init, {"scaled", "literal"});
  }
};

struct LlamaPrenormAttentionImpl : torch::nn::Module {
  LlamaPrenormAttentionImpl(const ModelSize& size, const LlamaPrenormOptions& options,
                            std::shared_ptr<Rope> rope)
      : num_heads(size.num_heads), rms_eps(options.rms_eps), rope(std::move(rope)) {
    const int64_t inner = size.num_heads * size.head_width;
    norm = register_module("norm", Weight(at::IntArrayRef{size.width}));
    q = register_module("q", Weight(at::IntArrayRef{inner, size.width}));
    k = register_module("k", Weight(at::IntArrayRef{inner, size.width}));
    v = register_module("v", Weight(at::IntArrayRef{inner, size.width}));
    o = register_module("o", Weight(at::IntArrayRef{size.width, inner}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto a = ops::rms_norm(h, norm->weight, rms_eps);
    const auto qkv = ops::linear_many(a, {q->weight, k->weight, v->weight});
    const auto query = (*rope)(split_heads(qkv[0], num_heads));  // [B, T, H, Dh]
    const auto key = (*rope)(split_heads(qkv[1], num_heads));
    const auto value = split_heads(qkv[2], num_heads);
    const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
    return ops::linear(merge_heads(ops::causal_attention(query, key, value, scale)), o->weight);
  }

  int64_t num_heads;
  double rms_eps;
  std::shared_ptr<Rope> rope;
  Weight norm{nullptr}, q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
};
TORCH_MODULE(LlamaPrenormAttention);

struct LlamaPrenormMlpImpl : torch::nn::Module {
  LlamaPrenormMlpImpl(const ModelSize& size, const LlamaPrenormOptions& options)
      : rms_eps(options.rms_eps) {
    norm = register_module("norm", Weight(at::IntArrayRef{size.width}));
    gate = register_module("gate", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    up = register_module("up", Weight(at::IntArrayRef{size.mlp_width, size.width}));
    down = register_module("down", Weight(at::IntArrayRef{size.width, size.mlp_width}));
  }

  torch::Tensor forward(const torch::Tensor& h) {  // [B, T, D]
    const auto m = ops::rms_norm(h, norm->weight, rms_eps);
    const auto halves = ops::linear_many(m, {gate->weight, up->weight});  // [B, T, F] each
    return ops::linear(ops::swiglu(halves[0], halves[1]), down->weight);
  }

  double rms_eps;
  Weight norm{nullptr}, gate{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(LlamaPrenormMlp);

struct LlamaPrenormBlockImpl : torch::nn::Module {
  LlamaPrenormBlockImpl(const ModelSize& size, const LlamaPrenormOptions& options,
                        std::shared_ptr<Rope> rope)
      : attn(register_module("attn", LlamaPrenormAttention(size, options, std::move(rope)))),
        mlp(register_module("mlp", LlamaPrenormMlp(size, options))) {}

  torch::Tensor forward(torch::Tensor h) {
    h = h + attn->forward(h);    // (1)
    return h + mlp->forward(h);  // (2)
  }

  LlamaPrenormAttention attn;
  LlamaPrenormMlp mlp;
};
TORCH_MODULE(LlamaPrenormBlock);

class LlamaPrenorm : public Model {
 public:
  LlamaPrenorm(const ModelSize& size, const LlamaPrenormOptions& options)
      : size_(size), options_(options) {
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
    for (auto& item : named_parameters()) {
      if (item.value().dim() == 2)
        ops::fill_normal_(item.value(), writes_residual(item.key()) ? residual_std : std, seed,
                          item.key());
      else
        item.value().fill_(1);  // gains
    }
  }

  std::vector<ParameterGroup> parameter_groups() override {
    return groups_without_constraint(*this);
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());
    for (auto& block : blocks_) {
      h = block->forward(h);
      if (hidden) hidden->push_back(h);
    }
    return ops::rms_norm(h, final_norm_->weight, options_.rms_eps);  // (3)
  }

  ModelSize size_;
  LlamaPrenormOptions options_;
  Weight embed_{nullptr}, final_norm_{nullptr}, head_{nullptr};
  std::vector<LlamaPrenormBlock> blocks_;
};

}  // namespace normbench
