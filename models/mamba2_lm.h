// A language model of Mamba-2 mixers alone. Dao & Gu, arXiv 2405.21060; code: transformers 4.57.6,
// Mamba2ForCausalLM. It is hybrid_prenorm with the pattern M:
//   h <- h + mamba(rms(h) gamma_i);  logits = W_head (rms(h) gamma)
#pragma once

#include <string>

#include "models/hybrid_prenorm.h"

namespace normbench {

struct Mamba2LmOptions {
  Mamba2Options mamba = {};
  double rms_eps = 1e-5;        // of every RMSNorm, the gated one included
  int64_t norm_groups = 0;      // of the gated norm; 0 = num_groups. HF's class: 1
  std::string init = "scaled";  // as in hybrid_prenorm.h

  template <class Visitor>
  void fields(Visitor& v) {
    mamba.fields(v);
    v.number("rms_eps", rms_eps, at_least(0));
    v.number("norm_groups", norm_groups, at_least(0));
    v.choice("init", init, {"scaled", "literal"});
  }
  HybridPrenormOptions hybrid() const {
    return {.hybrid = {.pattern = "M", .mamba = mamba},
            .rms_eps = rms_eps,
            .norm_groups = norm_groups,
            .init = init};
  }
};

class Mamba2Lm : public HybridPrenorm {
 public:
  Mamba2Lm(const ModelSize& size, const Mamba2LmOptions& options)
      : HybridPrenorm(size, options.hybrid()) {}
};

}  // namespace normbench
