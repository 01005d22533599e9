// What the hybrid language models share letter for letter: one mixer a layer, named by a letter of
// the pattern, and the sizes of the mixers. The residual update and the start stand in their own
// files. M Mamba-2 (mamba2.h), E mixture of experts (moe.h), * attention with shared heads of k and
// v and no positions, - dense MLP. Source of the letters: Megatron-LM, Nemotron-H.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/mamba2.h"
#include "models/model.h"
#include "models/moe.h"

namespace normbench {

struct HybridOptions {
  // Layer i is letter i of the pattern, which starts again when it is used up. Nemotron-3 Nano:
  // MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME.
  std::string pattern = "MEM*E";
  int64_t num_kv_heads = 0;  // K, a divisor of H; 0 = H. 2 for 32 heads in Nemotron-3 Nano
  Mamba2Options mamba = {};
  MoeOptions moe = {};

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("pattern", pattern);
    v.number("num_kv_heads", num_kv_heads, at_least(0));
    mamba.fields(v);
    moe.fields(v);
  }
  /// Fills in what follows from the size. Throws UserError on an unknown letter, on impossible
  /// sizes, and on options of a layer that the pattern does not have.
  void resolve(const ModelSize& size);
  bool has(char letter) const { return pattern.find(letter) != std::string::npos; }
  char letter(int64_t layer) const { return pattern[static_cast<size_t>(layer) % pattern.size()]; }
};

/// True for a projection that writes into the residual stream: out_proj, o and down.
bool hybrid_writes_residual(const std::string& name);

/// Model::after_step() and Model::diagnostics() of a model with these mixers: s_mamba and dt (mean,
/// least, largest) of each Mamba layer; s_moe, load, bias and score_spread of each MoE layer.
/// Before the first training pass load and score_spread are missing, and dt is that of its bias
/// alone.
void hybrid_after_step(torch::nn::Module& model);
std::vector<std::pair<std::string, torch::Tensor>> hybrid_diagnostics(torch::nn::Module& model);

/// The first values of what is no matrix, in every mixer.
void hybrid_reset_vectors_(torch::nn::Module& model, uint64_t seed);

/// The cross-entropy's value with the balance loss's gradient added. balance: undefined = none.
torch::Tensor with_gradient_of(const torch::Tensor& loss, const torch::Tensor& balance);

}  // namespace normbench
