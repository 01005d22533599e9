// DeepNorm: post-norm with a stronger residual and a smaller start. Wang et al., arXiv 2203.00555,
// Figure 2, decoder-only; in a LLaMA block, or as in torchscale (gated_mlp off, bias, no rope).
//   h <- norm(alpha h + attention(h))                                                         (1)
//   h <- norm(alpha h + mlp(h)),  alpha = (2 L)^(1/4)                                         (2)
//   logits = W_head h                                                                         (3)
//   at the start W_v, W_o and the MLP are Xavier normal with gain beta = (8 L)^(-1/4), W_q and W_k
//   with gain 1                                                                               (4)
// attention and mlp: decoder.h. D model width, L layers.
#pragma once

#include <cmath>
#include <string>

#include "models/decoder.h"
#include "suite/ops/initialize.h"

namespace normbench {

struct DeepnormOptions {
  AttentionOptions attention = {.rope_pairs = "interleaved"};
  double alpha = 0;  // 0 = (2 L)^(1/4)
  // The paper is about LayerNorm and an MLP with two matrices; a LLaMA block has these.
  std::string norm = "rmsnorm";  // rmsnorm, or layernorm with bias
  double norm_eps = 1e-5;        // added to the mean square or the variance
  bool final_norm = false;       // one more norm before the head
  bool gated_mlp = true;         // SwiGLU, whose three matrices all start with beta; off: GELU
  bool bias = false;             // of every matrix in the blocks
  bool rope = true;
  // xavier: (4). torchscale: what its code does, where the Xavier reset is never called: standard
  // deviation 1 / sqrt(3 fan_in), biases too, times beta where (4) says beta.
  std::string init = "xavier";

  template <class Visitor>
  void fields(Visitor& v) {
    attention.fields(v);
    v.number("alpha", alpha, at_least(0));
    v.choice("norm", norm, {"rmsnorm", "layernorm"});
    v.number("norm_eps", norm_eps, at_least(0));
    v.field("final_norm", final_norm);
    v.field("gated_mlp", gated_mlp);
    v.field("bias", bias);
    v.field("rope", rope);
    v.choice("init", init, {"xavier", "torchscale"});
  }
  DecoderOptions decoder() const {
    return {.attention = attention,
            .rope = rope,
            .gated_mlp = gated_mlp,
            .bias = bias,
            .norm = {.norm = norm, .eps = norm_eps, .bias = norm == "layernorm"},
            .final_norm = final_norm};
  }
};

class Deepnorm : public Decoder {
 public:
  Deepnorm(const ModelSize& size, const DeepnormOptions& options)
      : Decoder(size, options.decoder()),
        options_(options),
        alpha_(options.alpha != 0 ? options.alpha
                                  : std::pow(2.0 * static_cast<double>(size.num_layers), 0.25)) {
    if (!options.rope)
      check_unused("rope_pairs", options.attention.rope_pairs,
                   DeepnormOptions{}.attention.rope_pairs, "rope is true");
  }

  void reset_parameters(uint64_t seed) override {
    const double beta = std::pow(8.0 * static_cast<double>(size().num_layers), -0.25);  // (4)
    const auto gain = [&](const std::string& name) {
      const bool scores = name.find(".attn.q.") != name.npos || name.find(".attn.k.") != name.npos;
      return scores ? 1.0 : beta;
    };
    const bool torchscale = options_.init == "torchscale";
    fill_(seed, [&](const std::string& name, const torch::Tensor& w) {
      const double fan_out = static_cast<double>(w.size(0)),
                   fan_in = static_cast<double>(w.size(1));
      if (layer_of(name) < 0) return is_named(name, "head.weight") ? 1 / std::sqrt(fan_in) : 1.0;
      return gain(name) *
             (torchscale ? 1 / std::sqrt(3 * fan_in) : std::sqrt(2 / (fan_in + fan_out)));
    });
    if (!torchscale || !options_.bias) return;
    auto all = named_parameters();
    for (auto& item : all) {
      const auto& name = item.key();
      if (layer_of(name) < 0 || !is_named(name, "bias") || is_named(name, "norm.bias")) continue;
      const auto& matrix = all[name.substr(0, name.size() - 4) + "weight"];
      const double fan_in = static_cast<double>(matrix.size(1));
      ops::fill_normal_(item.value(), gain(name) / std::sqrt(3 * fan_in), seed, name);
    }
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    h = attention.norm->forward(alpha_ * h + attention.forward(h));  // (1)
    return mlp.norm->forward(alpha_ * h + mlp.forward(h));           // (2)
  }

 private:
  DeepnormOptions options_;
  double alpha_;
};

}  // namespace normbench

// The paper is silent on embedding and head: normal with standard deviation 1 and 1 / sqrt(D),
// which is torchscale's with its factor sqrt(D) on the embedding taken into the weight. torchscale
// draws from a uniform distribution; here it is the normal one of equal standard deviation.
