#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/hybrid_prenorm.h"
#include "suite/app/parity_hybrid.h"

namespace normbench {
namespace {

/// Keys that can have only this value.
void fix(const JsonObject& config, const Json& values) {
  for (const auto& [key, value] : values.items()) require_value<Json>(config, key, value);
}

/// Options of ours by the file's words for them.
void copy(const JsonObject& config, Hybrid& what,
          const std::vector<std::pair<const char*, const char*>>& names) {
  for (const auto& [theirs, ours] : names) what.options[ours] = config.raw(theirs);
}

void read_size(const JsonObject& config, Hybrid& what) {
  what.size.width = config.required<int64_t>("d_model");
  what.batch = config.optional<int64_t>("batch", 0);
  what.size.context = config.optional<int64_t>("T", 1);
  what.size.vocabulary = config.optional<int64_t>("vocab", 1);
  if (config.has("pattern")) {
    what.options["pattern"] = config.raw("pattern");
    what.size.num_layers = static_cast<int64_t>(config.required<std::string>("pattern").size());
  }
  const bool has_layers = config.has("n_layers");
  if (has_layers && config.has("pattern"))
    require_value(config, "n_layers", what.size.num_layers);
  else if (has_layers)
    what.size.num_layers = config.required<int64_t>("n_layers");
}

void read_mamba(ParityCase& golden, const JsonObject& config, Hybrid& what) {
  copy(config, what,
       {{"n_ssm_heads", "ssm_heads"},
        {"n_groups", "num_groups"},
        {"d_state", "d_state"},
        {"conv_kernel", "conv_width"}});
  const char* width = config.has("head_dim") ? "head_dim" : "head_dim_ssm";
  copy(config, what, {{width, "ssm_head_width"}});
  if (config.has("chunk_size")) copy(config, what, {{"chunk_size", "chunk"}});
  if (config.has("d_inner"))
    golden.expect_number("config.d_inner",
                         static_cast<double>(config.required<int64_t>("n_ssm_heads") *
                                             config.required<int64_t>(width)),
                         config.required<double>("d_inner"));
  fix(config, {{"in_proj_order", "z,x,B,C,dt"},
               {"in_proj_bias", false},
               {"conv_bias", true},
               {"norm_before_gate", false},
               {"dt_clamp", {0.0, "inf"}}});
}

void read_experts(const JsonObject& config, Hybrid& what) {
  copy(config, what,
       {{"n_experts", "num_experts"},
        {"top_k", "top_k"},
        {"d_ff", "expert_width"},
        {"d_ff_shared", "shared_width"},
        {"routed_scaling_factor", "routed_scaling_factor"}});
  what.options["norm_topk_prob"] = config.optional<bool>("norm_topk_prob", true);
  what.options["balance_coefficient"] = 0.0;
  fix(config, {{"router_weight_eps", 1e-20}, {"topk_idx_order", "ascending expert id"}});
}

void read_attention(const JsonObject& config, Hybrid& what) {
  what.size.num_heads = config.required<int64_t>("n_heads");
  what.size.head_width = config.required<int64_t>("d_head");
  copy(config, what, {{"n_kv_heads", "num_kv_heads"}});
  fix(config, {{"rope", "none"}});
}

/// The RMSNorms of the un-normalised models.
void read_norms(const JsonObject& config, Hybrid& what) {
  copy(config, what, {{"eps", "rms_eps"}, {"norm_groups", "norm_groups"}});
}

void read_mamba2(ParityCase& golden, const JsonObject& config, Hybrid& what) {
  const bool whole = what.kind == "mamba2_lm";
  what.model = whole ? "mamba2" : "hybrid_prenorm";
  read_mamba(golden, config, what);
  read_norms(config, what);
  if (!whole) {
    what.options["pattern"] = "M";
    copy(config, what, {{"gate_norm", "gate_norm"}});
    fix(config, {{"loss", "sum(y*cotangent)"}});
    return;
  }
  fix(config, {{"gate_norm", "rms"},
               {"pre_norm", "RMSNorm"},
               {"final_norm", "RMSNorm"},
               {"residual", "h + mixer(norm(h))"},
               {"tied_embeddings", false}});
}

void read_moe(ParityCase&, const JsonObject& config, Hybrid& what) {
  what.model = "hybrid_prenorm";
  what.options["pattern"] = "E";
  read_experts(config, what);
  copy(config, what, {{"activation", "activation"}});
  fix(config, {{"kind", "moe_" + config.required<std::string>("activation")},
               {"score", "sigmoid"},
               {"bias_use", "selection only"},
               {"norm_eps", 1e-20},
               {"n_group", 1},
               {"gate_is", "operand of SiLU"},
               {"loss", "sum(y*cotangent)"}});
}

void read_prenorm(ParityCase& golden, const JsonObject& config, Hybrid& what) {
  what.model = "hybrid_prenorm";
  read_mamba(golden, config, what);
  read_experts(config, what);
  read_attention(config, what);
  read_norms(config, what);
  what.size.mlp_width = config.required<int64_t>("d_ff_dense");
  copy(config, what, {{"activation", "activation"}, {"gate_norm", "gate_norm"}});
  fix(config, {{"attn_scale", "1/sqrt(d_head)"},
               {"residual", "h + mixer(RMSNorm(h))"},
               {"final_norm", "RMSNorm"},
               {"embed_scale", 1.0},
               {"tied_embeddings", false},
               {"loss", "mean token cross-entropy (no auxiliary loss)"}});
}

void read_ngpt_hybrid(ParityCase& golden, const JsonObject& config, Hybrid& what) {
  what.model = "ngpt_hybrid";
  read_mamba(golden, config, what);
  read_experts(config, what);
  read_attention(config, what);
  if (config.has("d_ff_dense")) what.size.mlp_width = config.required<int64_t>("d_ff_dense");
  for (const char* name :
       {"norm_eps", "alpha_init", "alpha_scale", "alpha_abs", "s_mamba_init", "s_mamba_scale",
        "dt_row_scale", "s_moe_init", "s_moe_scale", "router_normalised", "s_uv", "s_uv_init",
        "s_uv_scale", "s_qk_init", "s_qk_scale", "s_z_init", "s_z_scale", "fngpt"})
    copy(config, what, {{name, name}});
  fix(config,
      {{"norm_form", "x*rsqrt(sum(x^2)+eps)"},
       {"residual",
        "h <- Norm(h + |alpha| * (Norm(branch) - h)); h itself is not re-normalised at block "
        "entry (it is unit)"},
       {"scale_rule", "effective = stored * init/scale"},
       {"gate_norm", "none"},
       {"router_bias_in_weight", false},
       {"activation", "relu2"},
       {"s_uv_note",
        "effective s_uv = stored*sqrt(d_model), multiplies W1 h before relu^2; absent (and no "
        "sqrt(d)) when s_uv is false"},
       {"s_qk_note",
        "q <- s_qk^2 * Norm(q), k <- Norm(k), softmax multiplier sqrt(d_head); per q head, stored "
        "[n_heads,d_head]"}});
  // The norms of the residual update have no eps; 1e-12 changes no file's numbers by 1e-9.
  if (config.required<double>("norm_eps") > 1e-12)
    config.fail("norm_eps", "parity cannot rebuild this", config.raw("norm_eps").dump(), "1e-12");
  if (what.kind == "ngpt_hybrid_block") fix(config, {{"loss", "sum(y*cotangent)"}});
  if (what.kind != "ngpt_hybrid_lm") return;
  copy(config, what, {{"embed_norm_in_graph", "embed_norm"}});
  fix(config, {{"tied_embeddings", false},
               {"final_norm", "none"},
               {"loss", "mean token cross-entropy (no auxiliary loss)"}});
}

/// A file names the numbers of every part; a model refuses those of a part that it does not have.
void leave_out_unused(Hybrid& what) {
  if (!what.options.contains("pattern")) return;
  const auto pattern = what.options["pattern"].get<std::string>();
  const auto has = [&](char letter) { return pattern.find(letter) != std::string::npos; };
  const auto drop = [&](const std::vector<std::string>& names) {
    for (const auto& name : names) what.options.erase(name);
  };
  const auto names_of = [](const Json& options) {
    std::vector<std::string> names;
    for (const auto& item : options.items()) names.push_back(item.key());
    return names;
  };
  if (!has('M')) {
    drop(names_of(options_json(Mamba2Options{})));
    drop({"s_mamba_init", "s_mamba_scale", "dt_row_scale", "gate_norm", "norm_groups"});
  }
  if (!has('E')) {
    drop(names_of(options_json(MoeOptions{})));
    drop({"s_moe_init", "s_moe_scale", "router_normalised"});
  }
  if (!has('*')) drop({"num_kv_heads", "s_qk_init", "s_qk_scale"});
  if (!has('E') && !has('-')) drop({"activation", "s_uv", "s_uv_init", "s_uv_scale"});
  if (what.options.value("gate_norm", "") == "none") drop({"norm_groups"});
  if (!what.options.value("s_uv", false)) drop({"s_uv_init", "s_uv_scale"});
  if (!what.options.value("fngpt", false)) drop({"norm_eps"});
}

struct Reader {
  const char* model;
  void (*read)(ParityCase& golden, const JsonObject& config, Hybrid& what);
};
constexpr Reader kReaders[] = {{"hybrid_prenorm", read_prenorm},
                               {"mamba2", read_mamba2},
                               {"moe_sigmoid", read_moe},
                               {"ngpt_hybrid", read_ngpt_hybrid}};

}  // namespace

Hybrid read_hybrid(ParityCase& golden, const JsonObject& config) {
  Hybrid what;
  what.kind = config.required<std::string>("kind");
  read_size(config, what);
  for (const auto& reader : kReaders)
    if (golden.kind() == reader.model) reader.read(golden, config, what);
  leave_out_unused(what);
  return what;
}

double least_parameters(const Hybrid& what) {
  const auto option = [&](const char* name) {
    const auto found = what.options.find(name);
    return found != what.options.end() && found->is_number() ? std::max(found->get<double>(), 0.0)
                                                             : 0.0;
  };
  const double width = size_or_zero(what.size.width),
               heads = size_or_zero(what.size.num_heads) * size_or_zero(what.size.head_width),
               inner = option("ssm_heads") * option("ssm_head_width"),
               groups = 2 * option("num_groups") * option("d_state");
  const std::map<char, double> of_letter = {
      {'M', width * (3 * inner + groups) + (inner + groups) * option("conv_width")},
      {'E', width * (option("num_experts") * (1 + 2 * option("expert_width")) +
                     2 * option("shared_width"))},
      {'*', width * 2 * heads},
      {'-', width * 2 * size_or_zero(what.size.mlp_width)}};
  // The model mamba2 has no pattern and no other layer.
  const auto pattern = what.options.value("pattern", std::string("M"));
  double of_pattern = 0;
  for (const char letter : pattern)
    if (const auto found = of_letter.find(letter); found != of_letter.end())
      of_pattern += found->second;
  const double layers = size_or_zero(what.size.num_layers);
  return width * size_or_zero(what.size.vocabulary) +
         std::floor(layers / std::max(1.0, static_cast<double>(pattern.size()))) * of_pattern;
}

}  // namespace normbench
