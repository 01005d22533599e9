// For tests of the hybrids: models of every layer that a test can hold in double, their tokens, and
// options.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"
#include "suite/base/json.h"

namespace normbench::testing::small_hybrid {

inline constexpr auto kDouble = torch::kDouble;

inline const ModelSize kSmall = {
    .num_layers = 6, .width = 24, .num_heads = 4, .mlp_width = 34, .vocabulary = 29, .context = 12};
inline const Json kMixed = {{"pattern", "MEM*E-"}, {"num_experts", 5}, {"expert_width", 16},
                            {"num_groups", 2},     {"d_state", 6},     {"ssm_head_width", 8},
                            {"num_kv_heads", 2},   {"chunk", 5}};

/// `options` with `more` laid over them. What they say of layers that the pattern does not have is
/// left out, since a model refuses it.
inline Json with(Json options, const Json& more) {
  options.update(more);
  const std::pair<char, std::vector<std::string>> parts[] = {
      {'M', {"num_groups", "d_state", "ssm_head_width", "chunk"}},
      {'E', {"num_experts", "expert_width"}},
      {'*', {"num_kv_heads"}}};
  for (const auto& [letter, names] : parts)
    if (options.value("pattern", "ME*").find(letter) == std::string::npos)
      for (const auto& name : names) options.erase(name);
  return options;
}

inline std::shared_ptr<Model> make(const std::string& name, const Json& options,
                                   const ModelSize& size = kSmall) {
  auto model = find_model(name).make(size, JsonObject(options, "test"));
  model->reset_parameters(/*seed=*/7);
  model->to(kDouble);
  model->set_compute_type(kDouble);
  return model;
}

inline torch::Tensor tokens(int64_t stride) {
  return (torch::arange(2 * kSmall.context, torch::kLong) * stride % kSmall.vocabulary)
      .view({2, kSmall.context});
}

inline double largest(const torch::Tensor& x) { return x.abs().max().item<double>(); }

}  // namespace normbench::testing::small_hybrid
