#include "suite/measure/network.h"

#include <torch/torch.h>

#include "suite/measure/draws.h"
#include "suite/ops/initialize.h"

namespace normbench {

namespace {

struct Kind {
  std::string name, model, eps;  // the model's name of its eps
  Json options;
};

const Kind& find_kind(const std::string& name) {
  static const std::vector<Kind> kinds = {
      {"prenorm", "llama_prenorm", "rms_eps", {{"qk_norm", "none"}}},
      {"prenorm_qknorm", "llama_prenorm", "rms_eps", {{"qk_norm", "full"}}},
      {"simplegpt", "simplegpt", "norm_eps", Json::object()}};
  for (const auto& kind : kinds)
    if (kind.name == name) return kind;
  throw UserError({.what = "no network of this kind",
                   .where = "models",
                   .found = "\"" + name + "\"",
                   .expected = "names among prenorm, prenorm_qknorm, simplegpt"});
}

}  // namespace

Network make_network(const std::string& name, const NetworkOptions& options, uint64_t seed) {
  const auto& kind = find_kind(name);
  Json model_options = kind.options;
  model_options["init"] = "torchtitan";
  model_options[kind.eps] = options.eps;
  const ModelSize size = {.num_layers = options.num_layers,
                          .width = options.width,
                          .num_heads = options.num_heads,
                          .mlp_width = options.mlp_width,
                          .vocabulary = options.vocabulary,
                          .context = options.num_tokens};
  const auto model = std::dynamic_pointer_cast<Decoder>(
      find_model(kind.model).make(size, JsonObject(model_options, "options")));
  NORMBENCH_CHECK(model, kind.model);
  model->to(torch::kDouble);
  model->set_compute_type(torch::kDouble);
  model->reset_parameters(seed);
  if (options.init == "fan_in")
    for (auto& [parameter, w] : block_matrices(*model, "all"))
      ops::fill_normal_(w, 1 / std::sqrt(static_cast<double>(w.size(1))), seed, parameter);
  const auto sequence =
      integer_draw({1, options.num_tokens + 1}, options.vocabulary, seed, "tokens");
  return {.model = model,
          .tokens = sequence.narrow(1, 0, options.num_tokens),
          .targets = sequence.narrow(1, 1, options.num_tokens)};
}

std::vector<std::pair<std::string, torch::Tensor>> block_matrices(Decoder& model,
                                                                  const std::string& which) {
  std::vector<std::pair<std::string, torch::Tensor>> matrices;
  for (const auto& item : model.named_parameters()) {
    const auto& name = item.key();
    const bool qk = is_named(name, "attn.q.weight") || is_named(name, "attn.k.weight");
    if (layer_of(name) >= 0 && item.value().dim() == 2 && (which == "all" || qk))
      matrices.emplace_back(name, item.value());
  }
  return matrices;
}

}  // namespace normbench
