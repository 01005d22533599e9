// The contract between an architecture and everything that uses one. B batch, T tokens, D model
// width, V vocabulary.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "suite/base/options.h"
#include "suite/ops/parameter_group.h"

namespace normbench {

/// A row of suite/tables/sizes.json plus the vocabulary of the data set.
struct ModelSize {
  int64_t num_layers = 0;
  int64_t width = 0;       // D
  int64_t num_heads = 0;   // H
  int64_t head_width = 0;  // Dh; 0 = width / num_heads
  int64_t mlp_width = 0;   // F
  int64_t vocabulary = 0;  // V
  int64_t context = 0;     // T, the longest sequence

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("num_layers", num_layers);
    v.field("width", width);
    v.field("num_heads", num_heads);
    v.field("head_width", head_width);
    v.field("mlp_width", mlp_width);
    v.field("vocabulary", vocabulary);
    v.field("context", context);
  }
  /// Fills head_width in; throws UserError when a size is not positive or the width is not
  /// divisible by the heads.
  void check();
};

class Model : public torch::nn::Module {
 public:
  /// logits of every position. tokens: [B, T] int64. Returns [B, T, V]. Appends the residual stream
  /// after each block, [B, T, D], to `hidden` when it is given.
  virtual torch::Tensor logits(const torch::Tensor& tokens,
                               std::vector<torch::Tensor>* hidden = nullptr) = 0;

  /// Mean cross-entropy in nats per token. tokens, targets: [B, T] int64. Returns a scalar in at
  /// least fp32. Equal to the cross-entropy of logits(), without holding them all.
  virtual torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) = 0;

  /// The paper's initialisation: every weight is a pure function of (seed, its name, its shape),
  /// then constrained.
  virtual void reset_parameters(uint64_t seed) = 0;

  /// Every parameter once, in the order of the equations, with decay and constraint.
  virtual std::vector<ParameterGroup> parameter_groups() = 0;

  /// Once after every optimiser step, when the weights are constrained again: what changes without
  /// a gradient, such as the correction bias of a router.
  virtual void after_step() {}

  /// Small tensors by name that say how the model is doing, cheap to read after a step.
  virtual std::vector<std::pair<std::string, torch::Tensor>> diagnostics() { return {}; }

  /// Type in which matrices are multiplied and activations held (fp32, bf16, or fp64 for parity);
  /// weights stay masters.
  void set_compute_type(torch::ScalarType type) { compute_type_ = type; }
  torch::ScalarType compute_type() const { return compute_type_; }

 private:
  torch::ScalarType compute_type_ = torch::kFloat;
};

/// One line of the registry (models/registry.cpp).
struct ModelEntry {
  std::string name;
  std::string paper;  // "arXiv 2505.22014 v2, Table 1"
  Json default_options;
  Json added_options;  // names, see suite/base/options.h
  Json limits;         // {option: limit}, suite/base/limits.h
  std::shared_ptr<Model> (*make)(const ModelSize& size, const JsonObject& options);
};

/// Sorted by name. Explicit: nothing registers itself.
const std::vector<ModelEntry>& model_registry();
/// Throws UserError with the nearest known name.
const ModelEntry& find_model(const std::string& name);

}  // namespace normbench
