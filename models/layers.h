// What is equal, letter for letter, in several architectures. Whatever a paper changes stands in
// the paper's own file. B batch, T tokens, D model width, H heads, Dh head width, V vocabulary.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "suite/ops/rope.h"

namespace normbench {

/// Throws UserError unless `fits`. `name`: the model's option.
void check_option(const std::string& name, const Json& value, bool fits,
                  const std::string& expected);
/// Throws UserError when `value` differs from `unused`, its default, although `condition`, under
/// which the option has an effect, does not hold.
void check_unused(const std::string& name, const Json& value, const Json& unused,
                  const std::string& condition);

/// A new master weight in fp32, its values not set; without memory while a ShapesOnly lives.
torch::Tensor new_parameter(at::IntArrayRef shape);

/// While one lives, new weights of this thread have a shape and no memory: a model of any size can
/// be counted.
class ShapesOnly {
 public:
  ShapesOnly();
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;
};

/// Owner of one tensor called `weight`: a matrix [out, in], an embedding [V, D] or a gain [D].
struct WeightImpl : torch::nn::Module {
  explicit WeightImpl(at::IntArrayRef shape)
      : weight(register_parameter("weight", new_parameter(shape))) {}
  torch::Tensor weight;
};
TORCH_MODULE(Weight);

/// The same turn of queries and keys in every block. Tables are built once for a type and device
/// and kept.
class Rope {
 public:
  /// `fraction` of each head is turned. pairs: "half", "interleaved" or "published" (see
  /// ops::RopePairs). Throws UserError when the turned width is not an even number in [2,
  /// head_width].
  Rope(const ModelSize& size, double fraction, double base, const std::string& pairs);
  /// x: [B, T, H, Dh], T at most the context.
  torch::Tensor operator()(const torch::Tensor& x);

 private:
  int64_t context_, rotary_width_;
  double base_;
  ops::RopePairs pairs_;
  ops::RopeTable table_, shorter_;  // for the whole context; for the last T that was smaller
};

/// [B, T, H * Dh] -> [B, T, H, Dh], a view.
inline torch::Tensor split_heads(const torch::Tensor& x, int64_t num_heads) {
  return x.unflatten(-1, {num_heads, x.size(-1) / num_heads});
}
/// [B, T, H, Dh] -> [B, T, H * Dh].
inline torch::Tensor merge_heads(const torch::Tensor& x) { return x.flatten(2); }

/// Rows of the embedding in the compute type. tokens: [B, T] int64. Returns [B, T, D].
torch::Tensor embed_tokens(const torch::Tensor& weight, const torch::Tensor& tokens,
                           torch::ScalarType compute_type);

/// scale * (h W^T) in fp32 or wider. h: [B, T, D]; weight: [V, D]; scale: [V] or none. Returns [B,
/// T, V].
torch::Tensor head_logits(const torch::Tensor& h, const torch::Tensor& weight,
                          const std::optional<torch::Tensor>& scale = std::nullopt);

/// Mean cross-entropy of head_logits(), nats per token, without holding the logits. targets: [B, T]
/// int64. lgp_q: gradient preconditioning of scaled logits (suite/ops/logit_gradient.h), or none.
torch::Tensor head_loss(const torch::Tensor& h, const torch::Tensor& weight,
                        const std::optional<torch::Tensor>& scale, const torch::Tensor& targets,
                        std::optional<double> lgp_q = std::nullopt);

/// Mean over the width of |alpha| as it is used, of each layer: "attn.alpha" and "mlp.alpha",
/// [layers] each.
template <class Block>
std::vector<std::pair<std::string, torch::Tensor>> mean_step_sizes(
    const std::vector<Block>& blocks) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> attn, mlp;
  for (const auto& block : blocks) {
    attn.push_back(block->attn->step_size().abs().mean());
    mlp.push_back(block->mlp->step_size().abs().mean());
  }
  return {{"attn.alpha", torch::stack(attn)}, {"mlp.alpha", torch::stack(mlp)}};
}

/// Every parameter once, in registration order; tensors with two or more dimensions decay; no
/// constraint. Embeddings and hidden matrices are marked, by their names.
std::vector<ParameterGroup> groups_without_constraint(torch::nn::Module& module);

/// True for a projection that writes into the residual stream: names that end in attn.o.weight or
/// mlp.down.weight.
bool writes_residual(const std::string& name);
/// True when `name` is `leaf` or ends in "." + leaf.
bool is_named(const std::string& name, const std::string& leaf);

}  // namespace normbench
