// Golden files of the hybrid family: language models, single blocks with their residual update,
// bare mixers, and the weight constraint. Single pieces are taken out of a model of one layer.
#include "suite/app/parity_hybrid.h"

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "models/hybrid_prenorm.h"
#include "models/ngpt_hybrid.h"

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
  require_value<std::string>(config, "not_constrained",
                             "conv, A_log, D, dt_bias, router.bias, all scales and alpha");
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

}  // namespace

std::string check_hybrid_parity(ParityCase& golden) {
  const auto config = golden.config();
  const Hybrid what = read_hybrid(golden, config);
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
