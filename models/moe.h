// Mixture of experts with a sigmoid router and a correction bias in place of an auxiliary loss.
// Source: Nemotron-3 Nano, arXiv 2512.20848 (Megatron-LM moe_utils.py); DeepSeek-V3,
// arXiv 2412.19437, section 2.1.2.
//   p = sigmoid(W_r (s x))                                                                    (1)
//   selected: the k largest of p_e + b_e; weight_e = f p_e / (sum of selected p + 1e-20)      (2)
//   y = sum over selected e of weight_e expert_e(x) + shared(x)                               (3)
//   expert(x) = W_down relu(s_u W_up x)^2,  or  W_down ((s_u W_up x) SiLU(c s_v W_gate x))    (4)
//   after each step: b_e += rate * sign(mean count - count_e)                                 (5)
// s_u, s_v, c: 1 but in the normalised hybrid, which learns the two vectors [F] (ngpt_hybrid.h).
// The bias b chooses and never weighs; it is no parameter. Tokens are sorted by expert, so that an
// expert is one product over its own rows: none is dropped, and no expert has a limit.
// B batch, T tokens, D model width, E experts, k experts of a token, F width of an expert.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "models/layers.h"

namespace normbench {

/// The same words in every architecture with experts.
struct MoeOptions {
  int64_t num_experts = 16;  // E; ours, for widths of some hundreds. 128 in Nemotron-3
  int64_t top_k = 2;         // k; ours. 6 in Nemotron-3
  int64_t expert_width = 0;  // F; 0 = 0.69 D in steps of 16 (Nemotron-3: 1856 / 2688)
  int64_t shared_width = 0;  // of the expert that every token uses; 0 = 2 F, as in Nemotron-3
  double routed_scaling_factor = 2.5;  // f of (2), Nemotron-3
  bool norm_topk_prob = true;          // off: weight = f p
  double bias_rate = 1e-3;             // rate of (5), Nemotron-3
  // Coefficient of the balance loss of each sequence, whose gradient is added in training; the
  // reported loss stays the cross-entropy. Nemotron-3 uses both.
  double balance_coefficient = 1e-4;

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("num_experts", num_experts, at_least(1));
    v.number("top_k", top_k, at_least(1));
    v.number("expert_width", expert_width, at_least(0));
    v.number("shared_width", shared_width, at_least(0));
    v.number("routed_scaling_factor", routed_scaling_factor, above(0));
    v.field("norm_topk_prob", norm_topk_prob);
    v.number("bias_rate", bias_rate, at_least(0));
    v.number("balance_coefficient", balance_coefficient, at_least(0));
  }
  /// Fills the widths in. Throws UserError unless 0 < k <= E, every width is positive, and the
  /// factors are not negative.
  void resolve(int64_t width);
};

/// Where the architectures differ.
struct MoeForm {
  std::string activation = "relu2";  // (4): relu2 or swiglu
  double router_scale = 0;  // s of (1) = stored * this, the stored scalar learned; 0: s = 1
  // s_u, and s_v of swiglu = stored [F] * this, learned; 0: both are 1, not learned.
  double hidden_scale = 0;
  double gate_factor = 1;    // c of (4), swiglu
  bool hidden_norm = false;  // the hidden vector / its L2 norm, before W_down
  double norm_eps = 1e-12;   // added to the sum of squares of that norm: relu^2 can be all zeros
};

/// The stored s_u and s_v, [F]; undefined where the form has none.
struct HiddenScales {
  torch::Tensor up, gate;
  /// Registers "scale_up", and "scale_gate" for swiglu, in `owner`.
  static HiddenScales make(torch::nn::Module& owner, int64_t hidden_width, const MoeForm& form);
};

/// (4). Also the dense MLP of the hybrids.
struct FeedForwardImpl : torch::nn::Module {
  /// own_scale: s_u and s_v belong to this one; the experts of a layer share theirs.
  FeedForwardImpl(int64_t width, int64_t hidden_width, const MoeForm& form, bool own_scale);
  /// x: [..., D].
  torch::Tensor forward(const torch::Tensor& x) { return forward(x, scales); }
  torch::Tensor forward(const torch::Tensor& x, const HiddenScales& of_the_layer);

  MoeForm form;
  Weight gate{nullptr}, up{nullptr}, down{nullptr};
  HiddenScales scales;
};
TORCH_MODULE(FeedForward);

struct RouterImpl : torch::nn::Module {
  RouterImpl(int64_t width, int64_t num_experts);
  torch::Tensor weight;  // [E, D]
  torch::Tensor bias;    // b, [E], a buffer
  // Tokens of each expert since the last step, [E], a buffer: with several ranks, to be summed over
  // them before update_bias_().
  torch::Tensor counts;
};
TORCH_MODULE(Router);

/// What the router says, [..., E] and [..., k], in fp32 or wider.
struct Routing {
  torch::Tensor logits, scores;  // W_r (s x) and p
  torch::Tensor ids;             // selected experts, ascending
  torch::Tensor weights;         // of (2), in the order of ids
};

/// The k largest entries of the last dimension, ids ascending; of equal ones the first.
torch::Tensor select_experts(const torch::Tensor& scores, int64_t k);

/// Tokens of each expert, [E], in the type of `like`.
torch::Tensor expert_counts(const torch::Tensor& ids, const torch::Tensor& like);

/// b + rate * sign(mean count - count), (5).
torch::Tensor updated_bias(const torch::Tensor& bias, const torch::Tensor& counts, double rate);

/// sum_e f_e P_e of each sequence, f_e = E / (k T) * number of tokens of e, P_e = mean over tokens
/// of p_e / (sum of p + 1e-20). scores: [B, T, E]; ids: [B, T, k], the selection that is counted.
/// Returns [B].
torch::Tensor sequence_balance(const torch::Tensor& scores, const torch::Tensor& ids);

struct MoeImpl : torch::nn::Module {
  MoeImpl(int64_t width, const MoeOptions& options, const MoeForm& form);

  Routing route(const torch::Tensor& x) const;  // [..., D]
  /// x: [B, T, D]. Adds this layer's balance loss to `balance` and counts the tokens when it is
  /// given, which is in training only.
  torch::Tensor forward(const torch::Tensor& x, torch::Tensor* balance = nullptr);

  /// (5), then forgets the counts; without counts it does nothing. Once a step, after all
  /// micro-batches.
  void update_bias_();
  /// The s of (1) that is used; undefined when there is none.
  torch::Tensor s_moe() const;
  /// Bias and counts 0.
  void reset_router_();

  MoeOptions options;
  MoeForm form;
  Router router{nullptr};
  std::vector<FeedForward> experts;
  FeedForward shared{nullptr};
  torch::Tensor router_scale;  // stored s of (1), no dimension
  HiddenScales scales;         // of the experts; the shared one has its own
  torch::Tensor load;          // [E], each expert's share of the tokens of the last step
  // Standard deviation of p over the experts (E - 1 in its denominator; 0 for one expert), mean
  // over tokens.
  torch::Tensor score_spread;

 private:
  torch::Tensor routed(const torch::Tensor& x, const Routing& routing);
};
TORCH_MODULE(Moe);

}  // namespace normbench
