// Point-wise functions in place of the norms of a LLaMA block. DyT: Zhu et al., arXiv 2503.10622.
// Derf: Chen et al., arXiv 2512.10938, which has no LLaMA of its own.
//   dyt(x) = gamma tanh(alpha x);  derf(x) = gamma erf(alpha x + s) + beta                    (1)
//   h = e E[tokens], e a learned scalar                                                       (2)
//   h <- h + attention(f_a(h))                                                                (3)
//   h <- h + mlp(f_m(h)),  f dyt or derf                                                      (4)
//   logits = W_head f(h)                                                                      (5)
// attention and mlp: decoder.h. D model width.
#pragma once

#include <cmath>
#include <string>

#include "models/decoder.h"

namespace normbench {

struct DytOptions {
  AttentionOptions attention = {.rope_pairs = "interleaved"};
  std::string norm = "dyt";  // dyt or derf
  bool norm_bias = false;    // beta; the LLaMA code of DyT has none, Derf has it
  bool embed_scale = true;   // (2); without it DyT trains badly
  // First value of alpha before attention, and before the MLP and the head. 0: Table 11 of DyT, by
  // width; Derf's 0.5.
  double alpha_attention_init = 0;
  double alpha_other_init = 0;
  // Standard deviation of every weight, at every depth. literal: 0.02, as published; scaled:
  // 0.64 / sqrt(D). e starts at sqrt(D).
  std::string init = "scaled";
  std::string decay = "all";  // weight decay acts on vectors too, as published, or on matrices only

  template <class Visitor>
  void fields(Visitor& v) {
    attention.fields(v);
    v.choice("norm", norm, {"dyt", "derf"});
    v.field("norm_bias", norm_bias);
    v.field("embed_scale", embed_scale);
    v.number("alpha_attention_init", alpha_attention_init, at_least(0));
    v.number("alpha_other_init", alpha_other_init, at_least(0));
    v.choice("init", init, {"scaled", "literal"});
    v.choice("decay", decay, {"all", "matrices"});
  }
  DecoderOptions decoder() const {
    return {.attention = attention,
            .norm = {.norm = norm, .bias = norm_bias},
            .embed_scale = embed_scale,
            .decay_all = decay == "all"};
  }
};

/// Tables 10 (5120, its 13B model) and 11 of arXiv 2503.10622 (depth does not matter). Between
/// their widths the next larger one holds, below the first and above the last these.
struct DytAlpha {
  int64_t width;
  double attention, other;
};
constexpr DytAlpha kDytAlpha[] = {
    {1024, 1.0, 1.0}, {2048, 1.0, 0.5}, {4096, 0.8, 0.2}, {5120, 0.6, 0.15}, {8192, 0.2, 0.05}};

class Dyt : public Decoder {
 public:
  /// Throws UserError when q and k would have RMSNorms: their eps is no option of this model, and
  /// without one a row of zeros would become NaN.
  Dyt(const ModelSize& size, const DytOptions& options)
      : Decoder(size, options.decoder()), options_(options) {
    const auto& qk_norm = options.attention.qk_norm;
    check_option("qk_norm", qk_norm, qk_norm == "none" || qk_norm == "l2",
                 "none or l2 (an RMSNorm has an eps, which this model has not)");
  }

  void reset_parameters(uint64_t seed) override {
    const double std = init_std(options_.init, size().width);
    fill_(seed, [&](const std::string&, const torch::Tensor&) { return std; });
    fill_scalars_("embed.scale", std::sqrt(static_cast<double>(size().width)));
    const auto first = first_alpha();
    fill_scalars_("alpha", first.other);
    fill_scalars_("attn.norm.alpha", first.attention);
  }

 protected:
  torch::Tensor block(int64_t, AttentionImpl& attention, MlpImpl& mlp, torch::Tensor h) override {
    h = h + attention.forward(attention.norm->forward(h));  // (3)
    return h + mlp.forward(mlp.norm->forward(h));           // (4)
  }

 private:
  DytAlpha first_alpha() const {
    DytAlpha first = {size().width, 0.5, 0.5};
    if (options_.norm == "dyt") {
      for (const auto& row : kDytAlpha) {
        first = row;
        if (size().width <= row.width) break;
      }
    }
    if (options_.alpha_attention_init != 0) first.attention = options_.alpha_attention_init;
    if (options_.alpha_other_init != 0) first.other = options_.alpha_other_init;
    return first;
  }

  DytOptions options_;
};

}  // namespace normbench
