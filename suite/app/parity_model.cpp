// Golden files of whole models: forward, gradients, weight constraint, optimiser steps, folding.
#include "suite/app/parity_model.h"

#include <torch/torch.h>

#include <sstream>

#include "models/angpt_folded.h"
#include "models/decoder.h"
#include "models/layers.h"
#include "optim/clip.h"
#include "optim/optimizer.h"

namespace normbench {

void require_parameters(const ParityCase& golden, double num_parameters) {
  if (num_parameters <= golden.num_elements()) return;
  std::ostringstream found, expected;
  found << "sizes of at least " << num_parameters << " parameters";
  expected << "at most " << golden.num_elements() << ", as many numbers as the file holds";
  golden.config().fail("", "the file cannot hold a model of these sizes", found.str(),
                       expected.str());
}

void require_shape(const std::string& name, const torch::Tensor& found, at::IntArrayRef expected) {
  if (found.sizes() == expected) return;
  const auto text = [](at::IntArrayRef shape) { return Json(shape.vec()).dump(); };
  throw UserError(
      {.what = "a tensor of the golden file does not have the shape that its config says",
       .where = name,
       .found = text(found.sizes()),
       .expected = text(expected)});
}

void load_parameters(ParityCase& golden, const std::vector<ParameterGroup>& groups) {
  torch::NoGradGuard no_grad;
  for (const auto& group : groups) {
    const auto value = golden.input("param." + group.name);
    require_shape("param." + group.name, value, group.tensor.sizes());
    group.tensor.set_data(value.clone());
  }
}

void check_constraint(ParityCase& golden, const std::vector<ParameterGroup>& groups) {
  for (const auto& group : groups) {
    if (!golden.has("unconstrained." + group.name)) continue;
    auto copy = group;
    copy.tensor = golden.input("unconstrained." + group.name);
    constrain_(copy);
    golden.expect("constrained." + group.name, copy.tensor);
  }
}

namespace {

/// "" for the first batch, ".1", ".2" for later ones.
std::string batch_suffix(size_t i) { return i == 0 ? "" : "." + std::to_string(i); }

void clear_gradients(const std::vector<ParameterGroup>& groups) {
  for (const auto& group : groups) group.tensor.mutable_grad() = torch::Tensor();
}

/// Clip, update, constraint, as often as the file has learning rates; the gradients of the first
/// batch are there.
void check_steps(ParityCase& golden, Model& model, const std::vector<ParameterGroup>& groups,
                 const ParityModel& what) {
  const auto& entry = find_optimizer("adamw");
  const auto optimizer =
      entry.make(groups, JsonObject(what.optimizer_options, "config", "/optimizer"));
  for (size_t i = 0; i < what.lr.size(); ++i) {
    const auto suffix = batch_suffix(i);
    if (i > 0) {
      clear_gradients(groups);
      const auto loss =
          model.loss(golden.input("input.tokens" + suffix), golden.input("input.targets" + suffix));
      golden.expect("out.loss" + suffix, loss);
      loss.backward();
    }
    const double norm = clip_gradients_(groups, what.clip_norm);
    if (golden.has("out.grad_norm" + suffix))
      golden.expect("out.grad_norm" + suffix, torch::scalar_tensor(norm, torch::kDouble));
    optimizer->step(what.lr[i]);
    for (const auto& group : groups) constrain_(group);
    const std::string prefix = "step" + std::to_string(i + 1) + ".";
    for (const auto& group : groups)
      if (golden.has(prefix + group.name)) golden.expect(prefix + group.name, group.tensor);
  }
}

void check_folding(ParityCase& golden, Model& model, const torch::Tensor& tokens) {
  auto* angpt = dynamic_cast<Angpt*>(&model);
  if (!angpt || !golden.has("folded.out.logits")) return;
  AngptFolded folded(*angpt);
  for (const auto& [name, weight] : folded.weights())
    if (golden.has("folded." + name)) golden.expect("folded." + name, weight);
  golden.expect("folded.out.logits", folded.logits(tokens));
}

/// Embedding, W_q, W_o and two matrices of the MLP: every architecture has them.
double least_parameters(const ModelSize& size) {
  const double inner = size_or_zero(size.num_heads) * size_or_zero(size.head_width);
  return size_or_zero(size.width) *
         (size_or_zero(size.vocabulary) +
          size_or_zero(size.num_layers) * 2 * (inner + size_or_zero(size.mlp_width)));
}

}  // namespace

std::string check_model_parity(ParityCase& golden) {
  const auto what = read_parity_model(golden);
  const auto tokens = golden.input("input.tokens"), targets = golden.input("input.targets");
  require_shape("input.tokens", tokens, {what.batch, what.size.context});
  require_shape("input.targets", targets, {what.batch, what.size.context});
  require_parameters(golden, least_parameters(what.size));
  const auto model = find_model(what.name).make(what.size, JsonObject(what.options, "config"));
  model->to(torch::kDouble);
  model->set_compute_type(torch::kDouble);
  const auto groups = model->parameter_groups();
  load_parameters(golden, groups);
  if (what.hessian) {
    check_network_hessian(golden, dynamic_cast<Decoder&>(*model), tokens, targets);
    return "hessian of " + what.name;
  }

  std::vector<torch::Tensor> hidden;
  const auto logits = model->logits(tokens, &hidden);
  if (golden.has("out.logits")) golden.expect("out.logits", logits);
  for (size_t i = 0; i < hidden.size(); ++i)
    if (golden.has("out.hidden." + std::to_string(i)))
      golden.expect("out.hidden." + std::to_string(i), hidden[i]);

  const auto loss = model->loss(tokens, targets);
  golden.expect("out.loss", loss);
  clear_gradients(groups);
  loss.backward();
  for (const auto& group : groups) {
    if (!golden.has("grad." + group.name)) continue;
    const bool vanishes =
        !what.vanishing_gradient.empty() && is_named(group.name, what.vanishing_gradient);
    golden.expect("grad." + group.name, group.tensor.grad(),
                  vanishes ? ParityScale::kAbsolute : ParityScale::kTensor);
  }

  check_constraint(golden, groups);
  check_folding(golden, *model, tokens);
  if (what.has_optimizer) check_steps(golden, *model, groups, what);
  return "model " + what.name;
}

}  // namespace normbench
