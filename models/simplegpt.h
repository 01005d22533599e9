// SimpleGPT: a norm right after every matrix, none before a sublayer. Chen et al., arXiv
// 2602.01212, in the LLaMA block of the published code.
//   psi_W(x) = norm(W x) over the whole output, with its own gain                             (1)
//   q, k, v = psi(h), before the split into heads and RoPE                                    (2)
//   h <- h + psi_o(softmax_causal(q k^T / sqrt(Dh)) v)                                        (3)
//   h <- h + psi_down(psi_up(h) SiLU(psi_gate(h)))                                            (4)
//   logits = W_head norm(h)                                                                   (5)
// norm(x) = gamma x / sqrt(mean x^2 + eps), so psi does not depend on the scale of W.
// D model width, Dh head width, L layers.
#pragma once

#include <string>
#include <vector>

#include "models/decoder.h"

namespace normbench {

struct SimplegptOptions {
  // From the published code.
  AttentionOptions attention = {.rope_pairs = "interleaved"};
  // The matrices that are followed by a norm. Each has an effect of its own, which is a question of
  // a table.
  std::vector<std::string> norm_after = {"q", "k", "v", "o", "gate", "up", "down"};
  std::string norm = "rmsnorm";  // rmsnorm, layernorm (no bias), dyt or derf (with bias)
  double norm_eps = 1e-5;        // added to the mean square or the variance
  // The norms before the sublayers, which the paper removes. With them and norm_after empty this is
  // llama_prenorm; with q and k its full-width QK-norm.
  bool pre_norm = false;
  // torchtitan: fill_torchtitan_() of decoder.h. The scale of the matrices does not change the
  // function, only how far a step of the optimiser turns it.
  std::string init = "torchtitan";
  std::string decay = "all";  // weight decay acts on gains too, or on matrices only
  double alpha_init = 0.5;    // of dyt and derf

  template <class Visitor>
  void fields(Visitor& v) {
    attention.fields(v);
    v.words("norm_after", norm_after, {"q", "k", "v", "o", "gate", "up", "down"});
    v.choice("norm", norm, {"rmsnorm", "layernorm", "dyt", "derf"});
    v.number("norm_eps", norm_eps, at_least(0));
    v.field("pre_norm", pre_norm);
    v.choice("init", init, {"torchtitan", "scaled", "literal"});
    v.choice("decay", decay, {"all", "matrices"});
    v.number("alpha_init", alpha_init, above(0));
  }
  DecoderOptions decoder() const {
    return {.attention = attention,
            .norm = {.norm = norm, .eps = norm_eps, .bias = norm == "dyt" || norm == "derf"},
            .sublayer_norm = pre_norm,
            .norm_after = norm_after,
            .decay_all = decay == "all"};
  }
};

class Simplegpt : public Decoder {
 public:
  Simplegpt(const ModelSize& size, const SimplegptOptions& options)
      : Decoder(size, options.decoder()), options_(options) {
    check_any_norm(options.pre_norm, options.norm_after);
    check_norm_options(options.norm, options.attention.qk_norm, options.norm_eps,
                       SimplegptOptions{}.norm_eps, options.alpha_init,
                       SimplegptOptions{}.alpha_init);
  }

  void reset_parameters(uint64_t seed) override {
    if (options_.init == "torchtitan") {
      fill_torchtitan_(seed);
    } else {
      const double std = init_std(options_.init, size().width);
      fill_(seed, [&](const std::string&, const torch::Tensor&) { return std; });
    }
    fill_scalars_("alpha", options_.alpha_init);
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    const auto input = [&](Norm& norm) { return options_.pre_norm ? norm->forward(h) : h; };
    h = h + attention.forward(input(attention.norm));  // (3)
    return h + mlp.forward(input(mlp.norm));           // (4)
  }

 private:
  SimplegptOptions options_;
};

}  // namespace normbench

// The published code has rmsnorm and layernorm, with all seven places. dyt, derf, a part of the
// places, and pre_norm are ours.
