// OLMo 2: norms inside the residual branch, after the sublayer, and QK-norm. Team OLMo, arXiv
// 2501.00656, section 2.
//   h <- h + rms(attention(h)) gamma_a                                                        (1)
//   h <- h + rms(mlp(h)) gamma_m                                                              (2)
//   logits = W_head (rms(h) gamma)                                                            (3)
// rms(x) = x / sqrt(mean x^2 + eps). attention, mlp and QK-norm: decoder.h.
#pragma once

#include <string>

#include "models/decoder.h"

namespace normbench {

struct Olmo2Options {
  // From the paper: RMSNorm over the whole of q and k, before RoPE with base 5e5.
  AttentionOptions attention = {.qk_norm = "full", .rope_base = 5e5};
  // Added to the mean square, of q and k too. As in the released model (allenai/OLMo,
  // configs/official-1124/OLMo2-7B-stage1.yaml); 1e-5 is the default of its port to transformers.
  double norm_eps = 1e-6;
  // Standard deviation of every weight, at every depth. literal: 0.02, the paper's; scaled:
  // 0.64 / sqrt(D), which is 0.02 at D = 1024.
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

class Olmo2 : public Decoder {
 public:
  Olmo2(const ModelSize& size, const Olmo2Options& options)
      : Decoder(size, options.decoder()), options_(options) {}

  void reset_parameters(uint64_t seed) override {
    const double std = init_std(options_.init, size().width);
    fill_(seed, [&](const std::string&, const torch::Tensor&) { return std; });
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    h = h + attention.norm->forward(attention.forward(h));  // (1)
    return h + mlp.norm->forward(mlp.forward(h));           // (2)
  }

 private:
  Olmo2Options options_;
};

}  // namespace normbench

// Where this differs from the paper: it cuts the normal distribution of the weights at three
// standard deviations.
