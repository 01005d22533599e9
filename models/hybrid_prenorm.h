// The un-normalised hybrid that the normalised one is compared with: Mamba-2, experts, attention
// without positions and dense MLPs in one stack. Nemotron-H, arXiv 2504.03624; Nemotron-3 Nano,
// arXiv 2512.20848; code: transformers 5.24.0, NemotronHForCausalLM.
//   h <- h + mixer_i(rms(h) gamma_i), one mixer a layer, by the pattern                       (1)
//   logits = W_head (rms(h) gamma)                                                            (2)
// rms(x) = x / sqrt(mean x^2 + eps). Mixers: mamba2.h, moe.h; attention as in decoder.h without
// RoPE; mlp(x) = W_down relu(W_up x)^2.
// B batch, T tokens, D model width, L layers, V vocabulary.
#pragma once

#include <torch/nn/module.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder.h"
#include "models/hybrid.h"
#include "suite/ops/initialize.h"

namespace normbench {

struct HybridPrenormOptions {
  HybridOptions hybrid = {};
  double rms_eps = 1e-5;             // Nemotron-3: of every RMSNorm, the gated one included
  std::string gate_norm = "rms";     // of Mamba-2: rms, or none
  int64_t norm_groups = 0;           // of that norm; 0 = num_groups (Nemotron). HF's Mamba-2: 1
  std::string activation = "relu2";  // of MLP and experts: relu2 (Nemotron) or swiglu (DeepSeek-V3)
  // Standard deviation of the weights. scaled: 0.64 / sqrt(D), which is 0.02 at D = 1024
  // (Nemotron-3 Nano's 0.0173 is 0.90 / sqrt(D)); literal: 0.02 at every width. Projections into
  // the residual stream have it divided by sqrt(L), one update a layer.
  std::string init = "scaled";

  template <class Visitor>
  void fields(Visitor& v) {
    hybrid.fields(v);
    v.number("rms_eps", rms_eps, at_least(0));
    v.choice("gate_norm", gate_norm, {"rms", "none"});
    v.number("norm_groups", norm_groups, at_least(0));
    v.choice("activation", activation, {"relu2", "swiglu"});
    v.choice("init", init, {"scaled", "literal"});
  }
  /// Throws UserError on impossible sizes.
  void resolve(const ModelSize& size) {
    check_limits(*this, "the hybrid");
    hybrid.resolve(size);
    if (!hybrid.has('M')) check_unused("gate_norm", gate_norm, "rms", "the pattern has M");
    if (!hybrid.has('E') && !hybrid.has('-'))
      check_unused("activation", activation, "relu2", "the pattern has E or -");
    if (!hybrid.has('M') || gate_norm == "none") {
      check_unused("norm_groups", norm_groups, 0, "the pattern has M with a gate_norm");
      return;
    }
    if (norm_groups == 0) norm_groups = hybrid.mamba.num_groups;
    const int64_t inner = hybrid.mamba.ssm_heads * hybrid.mamba.ssm_head_width;
    if (inner % norm_groups != 0)
      throw UserError({.what = "the channels of Mamba-2 cannot be divided into these groups",
                       .where = "norm_groups",
                       .found = std::to_string(norm_groups),
                       .expected = "a divisor of " + std::to_string(inner)});
  }
};

struct HybridPrenormBlockImpl : torch::nn::Module {
  HybridPrenormBlockImpl(const ModelSize& size, const HybridPrenormOptions& options, char letter) {
    norm = register_module(
        "norm", Norm(size.width, NormOptions{.norm = "rmsnorm", .eps = options.rms_eps}));
    const MoeForm feed_forward = {.activation = options.activation};
    if (letter == 'M')
      mamba = register_module("mamba", Mamba2(size.width, options.hybrid.mamba,
                                              Mamba2Form{.gate_norm = options.gate_norm,
                                                         .norm_groups = options.norm_groups,
                                                         .norm_eps = options.rms_eps}));
    if (letter == 'E')
      moe = register_module("moe", Moe(size.width, options.hybrid.moe, feed_forward));
    if (letter == '*') {
      const DecoderOptions plain = {.attention = {.num_kv_heads = options.hybrid.num_kv_heads},
                                    .rope = false,
                                    .sublayer_norm = false};
      attn = register_module("attn", Attention(size, plain, nullptr));
    }
    if (letter == '-')
      mlp = register_module("mlp", FeedForward(size.width, size.mlp_width, feed_forward, true));
  }

  torch::Tensor forward(const torch::Tensor& h, torch::Tensor* balance) {  // (1)
    return h + mixer(norm->forward(h), balance);
  }
  torch::Tensor mixer(const torch::Tensor& x, torch::Tensor* balance) {
    if (!mamba.is_empty()) return mamba->forward(x);
    if (!moe.is_empty()) return moe->forward(x, balance);
    return attn.is_empty() ? mlp->forward(x) : attn->forward(x);
  }

  Norm norm{nullptr};
  Mamba2 mamba{nullptr};  // one of these four
  Moe moe{nullptr};
  Attention attn{nullptr};
  FeedForward mlp{nullptr};
};
TORCH_MODULE(HybridPrenormBlock);

class HybridPrenorm : public Model {
 public:
  HybridPrenorm(const ModelSize& size, HybridPrenormOptions options) : size_(size) {
    options.resolve(size);
    options_ = options;
    embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
    const auto list = register_module("blocks", torch::nn::ModuleList());
    for (int64_t i = 0; i < size.num_layers; ++i) {
      blocks_.emplace_back(size, options, options.hybrid.letter(i));
      list->push_back(blocks_.back());
    }
    final_norm_ = register_module(
        "final_norm", Norm(size.width, NormOptions{.norm = "rmsnorm", .eps = options.rms_eps}));
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
  }

  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override {
    return head_logits(final_state(tokens, hidden, nullptr), head_->weight);  // (2)
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    torch::Tensor balance;
    const auto h = final_state(tokens, nullptr, at::GradMode::is_enabled() ? &balance : nullptr);
    return with_gradient_of(head_loss(h, head_->weight, std::nullopt, targets), balance);
  }
  void after_step() override { hybrid_after_step(*this); }
  std::vector<std::pair<std::string, torch::Tensor>> diagnostics() override {
    return hybrid_diagnostics(*this);
  }

  void reset_parameters(uint64_t seed) override {
    torch::NoGradGuard no_grad;
    const double std = init_std(options_.init, size_.width);
    const double residual_std = std / std::sqrt(static_cast<double>(size_.num_layers));
    for (auto& item : named_parameters()) {
      if (item.value().dim() == 2)
        ops::fill_normal_(item.value(), hybrid_writes_residual(item.key()) ? residual_std : std,
                          seed, item.key());
      else if (is_named(item.key(), "norm.weight") || is_named(item.key(), "final_norm.weight"))
        item.value().fill_(1);
    }
    hybrid_reset_vectors_(*this, seed);
  }

  std::vector<ParameterGroup> parameter_groups() override {
    return groups_without_constraint(*this);  // decay on the convolution too, as in Megatron-LM
  }

 private:
  torch::Tensor final_state(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden,
                            torch::Tensor* balance) {
    auto h = embed_tokens(embed_->weight, tokens, compute_type());
    for (auto& block : blocks_) {
      h = block->forward(h, balance);
      if (hidden) hidden->push_back(h);
    }
    return final_norm_->forward(h);
  }

  ModelSize size_;
  HybridPrenormOptions options_;
  Weight embed_{nullptr}, head_{nullptr};
  std::vector<HybridPrenormBlock> blocks_;
  Norm final_norm_{nullptr};
};

}  // namespace normbench

// Where this differs: HF's class clamps dt from below; Megatron-LM trains in bf16 with fp32 SSM
// parameters, here every weight is an fp32 master. Megatron-LM's own start of the residual
// projections depends on its version (sqrt(2 L) or sqrt(L)).
