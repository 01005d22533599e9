// The norm after the sublayer, in a LLaMA block, at the places that are called post-norm.
//   post:           h <- norm(h + f(h)), no norm before the head (Vaswani et al., arXiv 1706.03762)
//   post_final:     the same with a norm before the head (the Post-LN of arXiv 2502.05795)
//   post_sublayer:  h <- h + norm(f(h)), with a norm before the head (OLMo 2; olmo2.h)
// f = attention, then mlp (decoder.h). norm: rmsnorm or layernorm. D model width.
#pragma once

#include <string>

#include "models/decoder.h"

namespace normbench {

struct PostnormOptions {
  std::string placement = "post_final";
  AttentionOptions attention;
  std::string norm = "rmsnorm";  // rmsnorm, or layernorm with bias
  double norm_eps = 1e-6;        // added to the mean square or the variance
  // Standard deviation of every weight, without a factor of depth. scaled: 0.64 / sqrt(D); literal:
  // 0.02.
  std::string init = "scaled";

  template <class Visitor>
  void fields(Visitor& v) {
    v.choice("placement", placement, {"post", "post_final", "post_sublayer"});
    attention.fields(v);
    v.choice("norm", norm, {"rmsnorm", "layernorm"});
    v.number("norm_eps", norm_eps, at_least(0));
    v.choice("init", init, {"scaled", "literal"});
  }
  DecoderOptions decoder() const {
    return {.attention = attention,
            .norm = {.norm = norm, .eps = norm_eps, .bias = norm == "layernorm"},
            .final_norm = placement != "post"};
  }
};

class Postnorm : public Decoder {
 public:
  Postnorm(const ModelSize& size, const PostnormOptions& options)
      : Decoder(size, options.decoder()), options_(options) {}

  void reset_parameters(uint64_t seed) override {
    const double std = init_std(options_.init, size().width);
    fill_(seed, [&](const std::string&, const torch::Tensor&) { return std; });
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    if (options_.placement == "post_sublayer") {
      h = h + attention.norm->forward(attention.forward(h));
      return h + mlp.norm->forward(mlp.forward(h));
    }
    h = attention.norm->forward(h + attention.forward(h));
    return mlp.norm->forward(h + mlp.forward(h));
  }

 private:
  PostnormOptions options_;
};

}  // namespace normbench
