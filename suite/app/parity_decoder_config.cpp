// The config of golden files of un-normalised decoders, which all have the same keys: each is an
// option of the model or must have the one value that the model stands for.
#include <algorithm>
#include <cmath>

#include "suite/app/parity_model.h"

namespace normbench {

namespace {

/// Keys that can have only this value in this model.
void fix(const JsonObject& config, const Json& values) {
  for (const auto& [key, value] : values.items()) {
    const auto& found = config.raw(key);
    if (found != value) config.fail(key, "parity cannot rebuild this", found.dump(), value.dump());
  }
}

void read_size(const JsonObject& config, ParityModel& what) {
  what.size = {.num_layers = config.required<int64_t>("n_layers"),
               .width = config.required<int64_t>("d_model"),
               .num_heads = config.required<int64_t>("n_heads"),
               .head_width = config.required<int64_t>("d_head"),
               .mlp_width = config.required<int64_t>("d_ff"),
               .vocabulary = config.required<int64_t>("vocab"),
               .context = config.required<int64_t>("seq_len")};
  what.batch = config.required<int64_t>("batch");
}

void copy(const JsonObject& config, const char* key, ParityModel& what, const char* option) {
  what.options[option] = config.raw(key);
}

void read_heads(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  golden.expect_number("config.attn_scale",
                       1 / std::sqrt(static_cast<double>(what.size.head_width)),
                       config.required<double>("attn_scale"));
  copy(config, "n_kv_heads", what, "num_kv_heads");
  copy(config, "qk_norm", what, "qk_norm");
}

void read_rope(const JsonObject& config, ParityModel& what) {
  fix(config, {{"pos_emb", "none"}});
  copy(config, "rope", what, "rope_pairs");
  copy(config, "rope_base", what, "rope_base");
}

void read_swiglu(const JsonObject& config) {
  fix(config, {{"mlp", "swiglu"}, {"activation", "silu"}, {"linear_bias", false}});
}

void read_layer_or_rms_norm(const JsonObject& config, ParityModel& what) {
  copy(config, "norm_type", what, "norm");
  copy(config, "norm_eps", what, "norm_eps");
  fix(config, {{"norm_bias", config.raw("norm_type") == "layernorm"}});
}

void read_llama_prenorm(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "llama_prenorm";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  copy(config, "norm_eps", what, "rms_eps");
  copy(config, "tied_embeddings", what, "tied_embeddings");
  fix(config, {{"placement", "pre"},
               {"norm_type", "rmsnorm"},
               {"norm_bias", false},
               {"branch_norm_scale", "none"},
               {"embed_scale", "none"},
               {"residual_scale", 1.0},
               {"final_norm", true}});
}

void read_lnscaling(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "lnscaling";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  copy(config, "norm_eps", what, "norm_eps");
  fix(config, {{"placement", "pre"},
               {"norm_type", "rmsnorm"},
               {"norm_bias", false},
               {"branch_norm_scale", "inv_sqrt_layer_1based"},
               {"embed_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", false},
               {"final_norm", true}});
}

void read_postnorm(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "postnorm";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  read_layer_or_rms_norm(config, what);
  what.options["placement"] = config.required<bool>("final_norm") ? "post_final" : "post";
  fix(config, {{"placement", "post"},
               {"branch_norm_scale", "none"},
               {"embed_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", false}});
}

void read_olmo2(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "olmo2";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  copy(config, "norm_eps", what, "norm_eps");
  fix(config, {{"placement", "post_sublayer"},
               {"norm_type", "rmsnorm"},
               {"norm_bias", false},
               {"branch_norm_scale", "none"},
               {"embed_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", false},
               {"final_norm", true}});
}

void read_deepnorm(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "deepnorm";
  read_heads(golden, config, what);
  const bool rope = config.raw("rope") != "none", gated = config.raw("mlp") == "swiglu";
  if (rope) {
    read_rope(config, what);
  } else {
    fix(config, {{"pos_emb", "none"}});
    config.ignore("rope_base");
    what.vanishing_gradient = "attn.k.bias";
  }
  what.options["rope"] = rope;
  what.options["gated_mlp"] = gated;
  fix(config, {{"mlp", gated ? "swiglu" : "gelu"}, {"activation", gated ? "silu" : "gelu_erf"}});
  copy(config, "linear_bias", what, "bias");
  copy(config, "final_norm", what, "final_norm");
  read_layer_or_rms_norm(config, what);
  // The paper's alpha is the model's own; another one is an option.
  const double alpha = config.required<double>("residual_scale"),
               rule = std::pow(2.0 * static_cast<double>(what.size.num_layers), 0.25);
  if (std::abs(alpha - rule) > 1e-12 * rule) what.options["alpha"] = alpha;
  fix(config, {{"placement", "post"},
               {"branch_norm_scale", "none"},
               {"embed_scale", "none"},
               {"tied_embeddings", false}});
}

void read_nanogpt(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "nanogpt";
  read_heads(golden, config, what);
  fix(config, {{"n_kv_heads", what.size.num_heads}, {"qk_norm", "none"}});
  what.options.erase("num_kv_heads");
  what.options.erase("qk_norm");
  const auto norm = config.required<std::string>("norm_type");
  const bool bias = config.required<bool>("linear_bias"), pointwise = norm != "layernorm";
  what.options["norm"] = norm;
  what.options["bias"] = bias;
  if (pointwise)
    fix(config, {{"norm_eps", 0.0}});
  else
    copy(config, "norm_eps", what, "norm_eps");
  if (bias) what.vanishing_gradient = "attn.k.bias";
  config.ignore("rope_base");
  fix(config, {{"placement", "pre"},
               {"norm_bias", bias || pointwise},
               {"embed_scale", pointwise ? "token_plus_pos" : "none"},
               {"rope", "none"},
               {"pos_emb", "learned"},
               {"mlp", "gelu"},
               {"activation", "gelu_erf"},
               {"branch_norm_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", true},
               {"final_norm", true}});
}

void read_dyt(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  if (config.raw("pos_emb") == "learned") return read_nanogpt(golden, config, what);
  what.name = "dyt";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  copy(config, "norm_type", what, "norm");
  copy(config, "norm_bias", what, "norm_bias");
  const bool scaled = config.raw("embed_scale") == "token";
  what.options["embed_scale"] = scaled;
  fix(config, {{"placement", "pre"},
               {"norm_eps", 0.0},
               {"embed_scale", scaled ? "token" : "none"},
               {"branch_norm_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", false},
               {"final_norm", true}});
}

void read_simplegpt(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  what.name = "simplegpt";
  read_heads(golden, config, what);
  read_rope(config, what);
  read_swiglu(config);
  copy(config, "norm_type", what, "norm");
  copy(config, "norm_eps", what, "norm_eps");
  fix(config, {{"placement", "simplenorm"},
               {"norm_bias", false},
               {"branch_norm_scale", "none"},
               {"embed_scale", "none"},
               {"residual_scale", 1.0},
               {"tied_embeddings", false},
               {"final_norm", true}});
}

struct Reader {
  const char* kind;
  void (*read)(ParityCase& golden, const JsonObject& config, ParityModel& what);
};
constexpr Reader kReaders[] = {{"deepnorm", read_deepnorm},
                               {"derf", read_dyt},
                               {"dyt", read_dyt},
                               {"llama_prenorm", read_llama_prenorm},
                               {"llama_qknorm_full", read_llama_prenorm},
                               {"llama_qknorm_head", read_llama_prenorm},
                               {"lnscaling", read_lnscaling},
                               {"nanogpt", read_nanogpt},
                               {"olmo2", read_olmo2},
                               {"postnorm", read_postnorm},
                               {"simplegpt", read_simplegpt}};

}  // namespace

std::vector<std::string> parity_decoder_kinds() {
  std::vector<std::string> kinds;
  for (const auto& reader : kReaders) kinds.push_back(reader.kind);
  return kinds;
}

bool read_parity_decoder(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& r) { return golden.kind() == r.kind; });
  if (reader == std::end(kReaders) || !config.has("placement")) return false;
  read_size(config, what);
  reader->read(golden, config, what);
  fix(config, {{"causal", true}, {"head_bias", false}, {"norm_weight", true}});
  require_value<std::string>(config, "qk_norm_order", "before_rope");
  what.hessian = config.has("hessian_wrt");
  if (what.hessian) read_network_hessian(config);
  config.finish();
  return true;
}

}  // namespace normbench
