// GPT-2 as in karpathy/nanoGPT: LayerNorm before the sublayers, exact GELU, learned positions, tied
// embeddings. With norm dyt or derf it is the GPT-2 of zlab-princeton/Derf (arXiv 2512.10938).
//   h = E[tokens] + P[0..T-1], with dyt and derf times a learned scalar                       (1)
//   h <- h + attention(norm(h))                                                               (2)
//   h <- h + W_down GELU(W_up norm(h))                                                        (3)
//   logits = E norm(h)                                                                        (4)
// norm: layernorm, dyt or derf. attention: decoder.h, without RoPE. D model width, L layers.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "models/decoder.h"

namespace normbench {

struct NanogptOptions {
  // From the published code.
  std::string norm = "layernorm";  // layernorm, dyt, derf, or rmsnorm (ours)
  double norm_eps = 1e-5;          // added to the variance or the mean square
  bool bias = false;               // of matrices and layernorm; dyt and derf always have theirs
  double alpha_init = 1.0;         // of dyt and derf, the default of Derf's code
  // Standard deviation of the weights; projections into the residual stream have it divided by
  // sqrt(2 L). literal: 0.02, as published; scaled: 0.64 / sqrt(D), which is 0.02 at D = 1024.
  std::string init = "scaled";
  // Ours: matrices followed by a norm, as in simplegpt.h, among q, k, v, o, up, down; and the norms
  // before the sublayers, which SimpleGPT removes.
  std::vector<std::string> norm_after;
  bool pre_norm = true;

  template <class Visitor>
  void fields(Visitor& v) {
    v.choice("norm", norm, {"layernorm", "dyt", "derf", "rmsnorm"});
    v.number("norm_eps", norm_eps, at_least(0));
    v.field("bias", bias);
    v.number("alpha_init", alpha_init, above(0));
    v.choice("init", init, {"scaled", "literal"});
    v.words("norm_after", norm_after, {"q", "k", "v", "o", "up", "down"});
    v.field("pre_norm", pre_norm);
  }
  bool pointwise() const { return norm == "dyt" || norm == "derf"; }
  DecoderOptions decoder() const {
    return {.rope = false,
            .gated_mlp = false,
            .bias = bias,
            .norm = {.norm = norm,
                     .eps = norm_eps,
                     .bias = pointwise() || (bias && norm == "layernorm")},
            .sublayer_norm = pre_norm,
            .norm_after = norm_after,
            .learned_positions = true,
            .embed_scale = pointwise(),
            .tied_embeddings = true};
  }
};

class Nanogpt : public Decoder {
 public:
  Nanogpt(const ModelSize& size, const NanogptOptions& options)
      : Decoder(size, options.decoder()), options_(options) {
    check_any_norm(options.pre_norm, options.norm_after);
    check_norm_options(options.norm, "none", options.norm_eps, NanogptOptions{}.norm_eps,
                       options.alpha_init, NanogptOptions{}.alpha_init);
  }

  void reset_parameters(uint64_t seed) override {
    const double std = init_std(options_.init, size().width);
    const double residual_std = std / std::sqrt(2.0 * static_cast<double>(size().num_layers));
    fill_(seed, [&](const std::string& name, const torch::Tensor&) {
      return writes_residual(name) ? residual_std : std;
    });
    fill_scalars_("alpha", options_.alpha_init);
    fill_scalars_("embed.scale", std::sqrt(static_cast<double>(size().width)));
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    const auto input = [&](Norm& norm) { return options_.pre_norm ? norm->forward(h) : h; };
    h = h + attention.forward(input(attention.norm));  // (2)
    return h + mlp.forward(input(mlp.norm));           // (3)
  }

 private:
  NanogptOptions options_;
};

}  // namespace normbench
