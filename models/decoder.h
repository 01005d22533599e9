// The frame that the un-normalised architectures share letter for letter: embedding, L blocks of
// attention and MLP, final norm, head. What they differ in stands in their own files: where a norm
// is placed (block()) and how weights start (reset_parameters()). GPT+, nGPT and anGPT do not use
// it. The norm of a sublayer is attn.norm or mlp.norm, wherever it is placed.
//   attention(x) = W_o softmax_causal(s q k^T) v;  q, k, v = W_qkv x, then QK-norm, then RoPE
//   mlp(x) = W_down ((W_up x) SiLU(W_gate x))  or  W_down GELU(W_up x)
// B batch, T tokens, D model width, H heads, K heads of k and v, Dh head width, F MLP width, V
// vocabulary.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/layers.h"
#include "models/model.h"
#include "models/norms.h"

namespace normbench {

/// The same words in every architecture with this attention.
struct AttentionOptions {
  int64_t num_kv_heads = 0;    // K of grouped-query attention, a divisor of H; 0 = H
  double attention_scale = 0;  // s; 0 = 1 / sqrt(Dh)
  // full: RMSNorm over all heads of q (and of k) together; head: over each head, with one gain [Dh]
  // for all; l2: each head / its L2 norm, times a learned g that replaces s (GPT+). All before
  // RoPE.
  std::string qk_norm = "none";
  double rope_fraction = 1;         // part of each head that is turned
  double rope_base = 10000;         // base of the angles
  std::string rope_pairs = "half";  // which entries turn together: half or interleaved

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("num_kv_heads", num_kv_heads, at_least(0));
    v.number("attention_scale", attention_scale, at_least(0));
    v.choice("qk_norm", qk_norm, {"none", "head", "full", "l2"});
    v.number("rope_fraction", rope_fraction, share_above_zero());
    v.number("rope_base", rope_base, above(0));
    v.choice("rope_pairs", rope_pairs, {"half", "interleaved"});
  }
};

struct DecoderOptions {
  AttentionOptions attention = {};
  bool rope = true;                          // off: no turn of q and k
  bool gated_mlp = true;                     // SwiGLU; off: exact (erf) GELU
  bool bias = false;                         // of every matrix in the blocks
  NormOptions norm = {};                     // of the sublayers, of `norm_after` and at the end
  bool sublayer_norm = true;                 // attn.norm and mlp.norm exist
  std::vector<std::string> norm_after = {};  // matrices whose output is normalised: q, k, v, o, ...
  bool final_norm = true;
  bool learned_positions = false;  // one vector [D] a position is added to the embedding
  bool embed_scale = false;        // a learned scalar times the embedding (with positions)
  bool tied_embeddings = false;    // the head is the embedding
  bool decay_all = false;          // weight decay on vectors and scalars too
};

/// y = W x + bias, then a norm over the whole of y; either may be absent.
struct ProjectionImpl : torch::nn::Module {
  ProjectionImpl(int64_t in, int64_t out, const DecoderOptions& options, const std::string& name);
  torch::Tensor forward(const torch::Tensor& x);
  /// What follows W x.
  torch::Tensor finish(torch::Tensor y);

  torch::Tensor weight, bias;
  Norm norm{nullptr};
};
TORCH_MODULE(Projection);

struct AttentionImpl : torch::nn::Module {
  AttentionImpl(const ModelSize& size, const DecoderOptions& options, std::shared_ptr<Rope> rope);
  torch::Tensor forward(const torch::Tensor& x);  // [B, T, D]
  torch::Tensor normalized_heads(const torch::Tensor& x, int64_t num_heads, Norm& head_norm);

  int64_t num_heads, num_kv_heads;
  double scale;
  std::string qk_norm;
  std::shared_ptr<Rope> rope;
  Norm norm{nullptr}, q_norm{nullptr}, k_norm{nullptr};
  Projection q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  torch::Tensor g;  // [1], of qk_norm l2
};
TORCH_MODULE(Attention);

struct MlpImpl : torch::nn::Module {
  MlpImpl(const ModelSize& size, const DecoderOptions& options);
  torch::Tensor forward(const torch::Tensor& x);  // [B, T, D]

  Norm norm{nullptr};
  Projection gate{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Mlp);

class Decoder : public Model {
 public:
  torch::Tensor logits(const torch::Tensor& tokens,
                       std::vector<torch::Tensor>* hidden = nullptr) override;
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override;
  std::vector<ParameterGroup> parameter_groups() override;

  /// The residual stream that enters block `layer`, counted from 0, and loss() as a function of it:
  /// loss(tokens, targets) = loss_from(i, stream_into(i, tokens), targets). For experiments on
  /// activations. Stream and h: [B, T, D].
  torch::Tensor stream_into(int64_t layer, const torch::Tensor& tokens);
  torch::Tensor loss_from(int64_t first, const torch::Tensor& h, const torch::Tensor& targets);

 protected:
  /// Throws UserError when the heads of k and v do not divide those of q, or `norm_after` names
  /// what is no matrix of a block.
  Decoder(const ModelSize& size, const DecoderOptions& options);

  /// The two residual updates of block `layer`, counted from 0. h: [B, T, D].
  virtual torch::Tensor block(int64_t layer, AttentionImpl& attention, MlpImpl& mlp,
                              torch::Tensor h) = 0;

  /// Matrices: normal with the standard deviation that is asked for. Gains 1, biases and shifts 0,
  /// g sqrt(Dh), other scalars 1.
  void fill_(uint64_t seed,
             const std::function<double(const std::string& name, const torch::Tensor& w)>& std);

  /// The initialisation of the SimpleGPT code and its baselines: embedding 1; q, k, v, gate 0.02;
  /// o, up, down 0.02 / sqrt(2 l), l = 1, 2, ...; head 1 / sqrt(D), cut at three standard
  /// deviations.
  void fill_torchtitan_(uint64_t seed);
  /// Every parameter called `leaf` (is_named).
  void fill_scalars_(const std::string& leaf, double value);

  const ModelSize& size() const { return size_; }

 private:
  torch::Tensor embedded(const torch::Tensor& tokens);
  /// Blocks first, ..., last - 1.
  torch::Tensor through(int64_t first, int64_t last, torch::Tensor h,
                        std::vector<torch::Tensor>* hidden = nullptr);
  torch::Tensor final_state(const torch::Tensor& h);
  const torch::Tensor& head_weight() const;

  struct BlockImpl : torch::nn::Module {
    BlockImpl(const ModelSize& size, const DecoderOptions& options, std::shared_ptr<Rope> rope);
    Attention attn;
    Mlp mlp;
  };
  TORCH_MODULE(Block);

  ModelSize size_;
  DecoderOptions options_;
  Weight embed_{nullptr}, pos_{nullptr}, head_{nullptr};
  torch::Tensor embed_scale_;  // [1]
  std::vector<Block> blocks_;
  Norm final_norm_{nullptr};
};

/// Throws UserError when a block has a norm neither before its sublayers nor after a matrix.
void check_any_norm(bool pre_norm, const std::vector<std::string>& norm_after);

/// Throws UserError when eps or the first alpha is not its default under a norm without one.
/// RMSNorms of q and k (qk_norm full or head) have that eps too.
void check_norm_options(const std::string& norm, const std::string& qk_norm, double eps,
                        double eps_default, double alpha, double alpha_default);

/// Standard deviation before any factor of depth. scaled: 0.64 / sqrt(D), which is 0.02 at D =
/// 1024; literal: 0.02 at every width, too small for a narrow model.
double init_std(const std::string& init, int64_t width);

/// Layer of a parameter "blocks.<layer>. ..."; -1 outside of the blocks.
int64_t layer_of(const std::string& name);

/// Normal numbers as of ops::fill_normal_, those beyond `cut` standard deviations drawn again.
void fill_truncated_normal_(torch::Tensor w, double std, double cut, uint64_t seed,
                            const std::string& name);

}  // namespace normbench
