#include "suite/app/token_cost.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace normbench {
namespace {

/// Layers of one kind: '*' attention, 'E' experts (models/hybrid.h). A model without a pattern has
/// attention in every layer, mamba2 in none.
double layers_of(const Json& config, char kind) {
  const auto layers = config.at("size").at("num_layers").get<int64_t>();
  const std::string of_all = config.at("model") == "mamba2" ? "M" : "*";
  const std::string pattern = config.at("model_options").value("pattern", of_all);
  int64_t found = 0;
  for (int64_t i = 0; i < layers; ++i)
    found += pattern[static_cast<size_t>(i) % pattern.size()] == kind;
  return static_cast<double>(found);
}

double idle_experts(const Json& config) {
  const Json& options = config.at("model_options");
  if (!options.contains("num_experts")) return 0;
  const double width = config.at("size").at("width"),
               idle = options.at("num_experts").get<double>() - options.at("top_k").get<double>();
  double expert_width = options.at("expert_width");
  if (expert_width == 0)  // the default of models/moe.h
    expert_width = std::max(16.0, 16 * std::round(.69 * width / 16));
  const double matrices = options.value("activation", std::string()) == "swiglu" ? 3 : 2;
  return layers_of(config, 'E') * matrices * idle * width * expert_width;
}

double looked_up(const Json& config) {
  const Json& size = config.at("size");
  const double width = size.at("width"), vocabulary = size.at("vocabulary"),
               context = size.at("context");
  if (config.at("model") == "nanogpt") return context * width;  // its head is the embedding
  return config.at("model_options").value("tied_embeddings", false) ? 0 : vocabulary * width;
}

}  // namespace

TokenCost token_cost(const Json& config) {
  const Json& size = config.at("size");
  return {.idle_parameters = looked_up(config) + idle_experts(config),
          .attention_flops = 6 * layers_of(config, '*') * size.at("context").get<double>() *
                             size.at("num_heads").get<double>() *
                             size.at("head_width").get<double>()};
}

}  // namespace normbench
