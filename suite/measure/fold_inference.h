// What folding anGPT's constants into its weights changes: no logit, and some time. arXiv
// 2505.22014 v2, section 4.2 says that it can be done, and that inference then costs what GPT+
// costs; models/angpt_folded.h has the formulas.
//   rows    one a round of timing: angpt_seconds, folded_seconds, gpt_plus_seconds of one forward
//           pass over a batch, the three in turn, so that a slow moment of the machine meets all
//   values  the medians of these; max_relative_error = max |folded - unfolded| / max |unfolded|
//           of the logits
// Computes on the configured device; the seconds of a GPU last until the logits are there.
#pragma once

#include "suite/measure/measure.h"

namespace normbench {

struct FoldInferenceOptions {
  int64_t num_layers = 4, width = 64, num_heads = 2, mlp_width = 256, context = 128;
  int64_t vocabulary = 1024;
  int64_t batch_sequences = 16;
  int64_t rounds = 21;  // timed ones, after three that are not

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("num_layers", num_layers, at_least(1));
    v.number("width", width, at_least(1));
    v.number("num_heads", num_heads, at_least(1));
    v.number("mlp_width", mlp_width, at_least(1));
    v.number("context", context, at_least(1));
    v.number("vocabulary", vocabulary, at_least(1));
    v.number("batch_sequences", batch_sequences, at_least(1));
    v.number("rounds", rounds, at_least(1));
  }
};

/// Weights are those of anGPT's start, with alpha, s_z and g moved off their first values (a folded
/// constant that is 1 would prove nothing); fp32.
void measure_fold_inference(const FoldInferenceOptions& options, uint64_t seed,
                            torch::Device device, Rows& rows);

MeasureEntry fold_inference();

}  // namespace normbench
