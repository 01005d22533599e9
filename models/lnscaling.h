// LayerNorm Scaling: pre-norm whose output shrinks with depth. Sun et al., arXiv 2502.05795 (The
// Curse of Depth in Large Language Models), in a LLaMA block.
//   h <- h + attention(rms(h) gamma_a / sqrt(l))                                              (1)
//   h <- h + mlp(rms(h) gamma_m / sqrt(l)),  l = 1, 2, ..., L                                 (2)
//   logits = W_head (rms(h) gamma)                                                            (3)
// rms(x) = x / sqrt(mean x^2 + eps). attention and mlp: decoder.h. D model width.
#pragma once

#include <cmath>
#include <string>

#include "models/decoder.h"

namespace normbench {

struct LnscalingOptions {
  // From the published code.
  AttentionOptions attention;  // its RoPE turns halves
  double norm_eps = 1e-6;      // added to the mean square
  // Standard deviation of every weight. literal: 0.02, as published; scaled: 0.64 / sqrt(D). No
  // factor of depth: the paper measures that it spoils the gain.
  std::string init = "scaled";

  template <class Visitor>
  void fields(Visitor& v) {
    attention.fields(v);
    v.number("norm_eps", norm_eps, at_least(0));
    v.choice("init", init, {"scaled", "literal"});
  }
  DecoderOptions decoder() const {
    return {.attention = attention, .norm = {.norm = "rmsnorm", .eps = norm_eps}};
  }
};

class Lnscaling : public Decoder {
 public:
  Lnscaling(const ModelSize& size, const LnscalingOptions& options)
      : Decoder(size, options.decoder()), options_(options) {}

  void reset_parameters(uint64_t seed) override {
    const double std = init_std(options_.init, size().width);
    fill_(seed, [&](const std::string&, const torch::Tensor&) { return std; });
  }

 protected:
  torch::Tensor block(int64_t layer, AttentionImpl& attention, MlpImpl& mlp,
                      torch::Tensor h) override {
    const double scale = 1 / std::sqrt(static_cast<double>(layer + 1));
    h = h + attention.forward(attention.norm->forward(h) * scale);  // (1)
    return h + mlp.forward(mlp.norm->forward(h) * scale);           // (2)
  }

 private:
  LnscalingOptions options_;
};

}  // namespace normbench

// Where this differs from the published code: its option LNS matches no branch as shipped and
// builds no norms in the blocks; here it is what the paper says.
