// For tests of every model: one that a test can hold in double, its tokens and its parameters.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>

#include "models/model.h"
#include "suite/base/json.h"

namespace normbench::testing::small_model {

inline std::shared_ptr<Model> make(const std::string& name, const ModelSize& size,
                                   const Json& options = Json::object()) {
  return find_model(name).make(size, JsonObject(options, "test"));
}

// mlp_width is no multiple of the width and the head count is odd, so that a wrong axis or view
// cannot hide.
inline const ModelSize kSmall = {
    .num_layers = 2, .width = 24, .num_heads = 3, .mlp_width = 34, .vocabulary = 29, .context = 12};

inline std::shared_ptr<Model> small_in_double(const std::string& name,
                                              const Json& options = Json::object()) {
  auto model = make(name, kSmall, options);
  model->reset_parameters(/*seed=*/7);
  model->to(torch::kDouble);
  model->set_compute_type(torch::kDouble);
  return model;
}

inline torch::Tensor small_tokens(int64_t stride) {
  return (torch::arange(2 * kSmall.context, torch::kLong) * stride % kSmall.vocabulary)
      .view({2, kSmall.context});
}

inline std::map<std::string, torch::Tensor> parameters_of(Model& model) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& group : model.parameter_groups()) all[group.name] = group.tensor;
  return all;
}

}  // namespace normbench::testing::small_model
