// The pre-norm transformer that the normalised ones are compared with: RMSNorm, RoPE, SwiGLU, no
// biases; grouped-query attention and QK-norm are options. With the defaults it is the
// un-normalised GPT of NVIDIA/ngpt (the baseline of arXiv 2410.01131), but with a true rotation in
// place of its position table (models/README.md). Not here: GPT+, which turns half of a head.
//   h <- h + attention(rms(h) gamma_a)                                                        (1)
//   h <- h + mlp(rms(h) gamma_m)                                                              (2)
//   logits = W_head (rms(h) gamma)                                                            (3)
// rms(x) = x / sqrt(mean x^2 + eps). attention, mlp and QK-norm: decoder.h.
// B batch, T tokens, D model width, V vocabulary.
#pragma once

#include <cmath>
#include <string>

#include "models/decoder.h"

namespace normbench {

struct LlamaPrenormOptions {
  // qk_norm: full in arXiv 2602.01212, head in Qwen3. RoPE as in the code of NVIDIA/ngpt.
  AttentionOptions attention = {.rope_pairs = "interleaved"};
  double rms_eps = 1e-6;         // added to the mean square; 1e-5 in arXiv 2602.01212
  bool tied_embeddings = false;  // the head is the embedding
  // Standard deviation of the weights. scaled: 0.64 / sqrt(D), which is 0.02 at D = 1024; literal:
  // 0.02 at every width, as published; in both, projections into the residual stream have it
  // divided by sqrt(2 L). torchtitan: that of simplegpt.h, for a comparison with it.
  std::string init = "scaled";
  std::string decay = "matrices";  // what weight decay acts on; all in arXiv 2602.01212

  template <class Visitor>
  void fields(Visitor& v) {
    attention.fields(v);
    v.number("rms_eps", rms_eps, at_least(0));
    v.field("tied_embeddings", tied_embeddings);
    v.choice("init", init, {"scaled", "literal", "torchtitan"});
    v.choice("decay", decay, {"matrices", "all"});
  }
  DecoderOptions decoder() const {
    return {.attention = attention,
            .norm = {.norm = "rmsnorm", .eps = rms_eps},
            .tied_embeddings = tied_embeddings,
            .decay_all = decay == "all"};
  }
};

class LlamaPrenorm : public Decoder {
 public:
  LlamaPrenorm(const ModelSize& size, const LlamaPrenormOptions& options)
      : Decoder(size, options.decoder()), options_(options) {
    // Its embedding has entries of size 1, which would be those of the head.
    if (options.init == "torchtitan")
      check_unused("tied_embeddings", options.tied_embeddings, false, "init is scaled or literal");
  }

  void reset_parameters(uint64_t seed) override {
    if (options_.init == "torchtitan") return fill_torchtitan_(seed);
    const double std = init_std(options_.init, size().width);
    const double residual_std = std / std::sqrt(2.0 * static_cast<double>(size().num_layers));
    fill_(seed, [&](const std::string& name, const torch::Tensor&) {
      return writes_residual(name) ? residual_std : std;
    });
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    h = h + attention.forward(attention.norm->forward(h));  // (1)
    return h + mlp.forward(mlp.norm->forward(h));           // (2)
  }

 private:
  LlamaPrenormOptions options_;
};

}  // namespace normbench
