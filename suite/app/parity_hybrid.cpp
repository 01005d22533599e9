// Golden files of the hybrid family: language models, single blocks with their residual update,
// bare mixers, and the weight constraint. Single pieces are taken out of a model of one layer.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/hybrid_prenorm.h"
#include "models/ngpt_hybrid.h"
#include "suite/app/parity_model.h"

namespace normbench {

namespace {

/// About the file, not about the computation.
constexpr const char* kWords[] = {"seed",
                                  "note",
                                  "grads_of",
                                  "second_implementation_grad_diff",
                                  "grad_change_if_norm_eps_is_0",
                                  "min_branch_norm",
                                  "min_selection_gap",
                                  "tokens_where_bias_changes_selection",
                                  "dead_token_expert",
                                  "logit_range",
                                  "saturation_note",
                                  "unconstrained_is"};

struct Hybrid {
  std::string kind;   // what the file holds: a language model, a block, ...
  std::string model;  // in the registry
  ModelSize size = {.num_layers = 1,
                    .width = 0,
                    .num_heads = 1,
                    .head_width = 1,
                    .mlp_width = 1,
                    .vocabulary = 1,
                    .context = 0};
  Json options = Json::object();
  int64_t batch = 0;
};

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

std::vector<ParameterGroup> groups_of(Model& model, const std::string& prefix) {
  std::vector<ParameterGroup> groups;
  for (const auto& group : model.parameter_groups())
    if (group.name.starts_with(prefix)) groups.push_back(group);
  return groups;
}

/// Parameters, and the correction biases, which are none.
void load(ParityCase& golden, Model& model, const std::string& prefix) {
  auto groups = groups_of(model, prefix);
  for (const auto& item : model.named_buffers())
    if (item.key().starts_with(prefix) && is_named(item.key(), "router.bias"))
      groups.push_back({.name = item.key(), .tensor = item.value()});
  load_parameters(golden, groups);
}

void expect_if_there(ParityCase& golden, const std::string& name, const torch::Tensor& ours) {
  if (golden.has(name)) golden.expect(name, ours);
}

void expect_gradients(ParityCase& golden, const std::vector<ParameterGroup>& groups) {
  for (const auto& group : groups)
    expect_if_there(golden, "grad." + group.name, group.tensor.grad());
}

void expect_routing(ParityCase& golden, const MoeImpl& moe, const torch::Tensor& x) {
  const auto routing = moe.route(x);
  expect_if_there(golden, "out.router_logits", routing.logits);
  expect_if_there(golden, "out.router_scores", routing.scores);
  expect_if_there(golden, "out.topk_idx", routing.ids);
  expect_if_there(golden, "out.topk_weight", routing.weights);
  expect_if_there(golden, "out.counts", expert_counts(routing.ids, moe.router->counts));
}

/// A piece of one layer: y = f(input), the loss sum(y * cotangent), gradients of all that enters.
template <class F>
void check_piece(ParityCase& golden, Model& model, const Hybrid& what, const std::string& input,
                 F f) {
  const auto x = golden.input("input." + input).requires_grad_();
  require_shape("input." + input, x, {what.batch, what.size.context, what.size.width});
  const auto y = f(x);
  const auto loss = (y * golden.input("input.cotangent")).sum();
  loss.backward();
  golden.expect("out.y", y);
  golden.expect("out.loss", loss);
  golden.expect("grad." + input, x.grad());
  expect_gradients(golden, groups_of(model, "blocks."));
}

void check_mixer(ParityCase& golden, Model& model, const Hybrid& what) {
  const auto block = model.named_modules()["blocks.0"];
  auto& prenorm = *block->as<HybridPrenormBlockImpl>();
  load(golden, model, prenorm.moe.is_empty() ? "blocks.0.mamba." : "blocks.0.moe.");
  check_piece(golden, model, what, "x",
              [&](const torch::Tensor& x) { return prenorm.mixer(x, nullptr); });
  if (!prenorm.moe.is_empty()) expect_routing(golden, *prenorm.moe, golden.tensor("input.x"));
}

void check_block(ParityCase& golden, Model& model, const Hybrid& what) {
  const auto module = model.named_modules()["blocks.0"];
  auto& block = *module->as<NgptHybridBlockImpl>();
  load(golden, model, "blocks.");
  check_piece(golden, model, what, "h",
              [&](const torch::Tensor& h) { return block.forward(h, nullptr); });
  const auto h = golden.tensor("input.h");
  golden.expect("out.branch", block.mixer(h, nullptr));
  if (!block.moe.is_empty()) expect_routing(golden, *block.moe, h);
  if (block.mamba.is_empty()) return;
  const auto heads = block.mamba->options.ssm_heads;
  const auto rows = ops::linear(h * block.mamba->s_mamba(), block.mamba->in_proj->weight);
  golden.expect("out.dt", block.mamba->step_sizes(rows.slice(-1, rows.size(-1) - heads)));
}

/// Experts that each token of layer i chose, from the residual stream in front of it.
void expect_selections(ParityCase& golden, Model& model, const torch::Tensor& tokens,
                       const std::vector<torch::Tensor>& hidden) {
  const auto modules = model.named_modules();
  auto h = torch::embedding(model.named_parameters()["embed.weight"], tokens);
  for (size_t i = 0; i < hidden.size(); ++i) {
    const auto name = "out.topk_idx." + std::to_string(i);
    const auto block = modules["blocks." + std::to_string(i)];
    if (golden.has(name)) {
      if (auto* ngpt = block->as<NgptHybridBlockImpl>())
        golden.expect(name, ngpt->moe->route(i == 0 ? ops::l2_norm(h) : h).ids);
      if (auto* prenorm = block->as<HybridPrenormBlockImpl>())
        golden.expect(name, prenorm->moe->route(prenorm->norm->forward(h)).ids);
    }
    h = hidden[i];
  }
}

void check_language_model(ParityCase& golden, Model& model, const Hybrid& what) {
  load(golden, model, "");
  const auto tokens = golden.input("input.tokens"), targets = golden.input("input.targets");
  require_shape("input.tokens", tokens, {what.batch, what.size.context});
  std::vector<torch::Tensor> hidden;
  golden.expect("out.logits", model.logits(tokens, &hidden));
  for (size_t i = 0; i < hidden.size(); ++i)
    expect_if_there(golden, "out.hidden." + std::to_string(i), hidden[i]);
  expect_selections(golden, model, tokens, hidden);
  const auto loss = model.loss(tokens, targets);
  golden.expect("out.loss", loss);
  loss.backward();
  expect_gradients(golden, model.parameter_groups());
}

void check_axes(ParityCase& golden, Model& model, const JsonObject& config) {
  fix(config, {{"not_constrained", "conv, A_log, D, dt_bias, router.bias, all scales and alpha"}});
  const auto axes = config.object("axis");
  const auto groups = model.parameter_groups();
  for (const auto& group : groups) {
    const bool theirs = axes.has(group.name), ours = group.constraint != RowConstraint::kNone;
    golden.expect_number("config.axis." + group.name, ours ? static_cast<double>(group.axis) : -1,
                         theirs ? axes.required<double>(group.name) : -1);
  }
  axes.finish();
  check_constraint(golden, groups);
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

/// The matrices of every mixer, and the embedding. An option of a wrong type counts as 0: the model
/// refuses it by name.
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

struct Reader {
  const char* model;
  void (*read)(ParityCase& golden, const JsonObject& config, Hybrid& what);
};
constexpr Reader kReaders[] = {{"hybrid_prenorm", read_prenorm},
                               {"mamba2", read_mamba2},
                               {"moe_sigmoid", read_moe},
                               {"ngpt_hybrid", read_ngpt_hybrid}};

}  // namespace

std::string check_hybrid_parity(ParityCase& golden) {
  const auto config = golden.config();
  Hybrid what;
  what.kind = config.required<std::string>("kind");
  read_size(config, what);
  for (const auto& reader : kReaders)
    if (golden.kind() == reader.model) reader.read(golden, config, what);
  leave_out_unused(what);
  require_parameters(golden, least_parameters(what));

  const auto model = find_model(what.model).make(what.size, JsonObject(what.options, "config"));
  model->reset_parameters(0);
  model->to(torch::kDouble);
  model->set_compute_type(torch::kDouble);
  using Check = void (*)(ParityCase&, Model&, const Hybrid&);
  const std::map<std::string, Check> checks = {{"hybrid_prenorm_lm", check_language_model},
                                               {"mamba2_block", check_mixer},
                                               {"mamba2_lm", check_language_model},
                                               {"moe_relu2", check_mixer},
                                               {"moe_swiglu", check_mixer},
                                               {"ngpt_hybrid_block", check_block},
                                               {"ngpt_hybrid_lm", check_language_model}};
  const auto check = checks.find(what.kind);
  if (what.kind == "constraint")
    check_axes(golden, *model, config);
  else if (check != checks.end())
    check->second(golden, *model, what);
  else
    config.fail("kind", "parity does not know this", what.kind, "a model, a block or a mixer");
  for (const char* word : kWords) config.ignore(word);
  config.finish();
  return "model " + what.model + ", " + what.kind;
}

}  // namespace normbench
