#include "suite/train/probes.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "suite/ops/observe.h"
#include "suite/train/evaluate.h"

namespace normbench {
namespace {

/// JSON holds no NaN and no infinity: they are null, and whoever reads the record sees a hole.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const torch::Tensor& tensor) {
  const auto flat = tensor.detach().to(torch::kCPU, torch::kDouble).reshape(-1);
  if (flat.numel() == 1) return number(flat.item<double>());
  Json list = Json::array();
  for (int64_t i = 0; i < flat.numel(); ++i) list.push_back(number(flat[i].item<double>()));
  return list;
}

/// ||x|| of every token, [B, T, D] -> [B T].
torch::Tensor token_norms(const torch::Tensor& x) {
  return x.to(torch::kDouble).norm(2, -1).reshape(-1);
}

Json norms_by_layer(Model& model, const torch::Tensor& tokens) {
  std::vector<torch::Tensor> hidden;
  model.logits(tokens, &hidden);
  Json mean = Json::array(), sd = Json::array();
  for (const auto& h : hidden) {
    const auto norms = token_norms(h);
    mean.push_back(number(norms.mean().item<double>()));
    sd.push_back(number(norms.std().item<double>()));
  }
  return {{"mean", mean}, {"sd", sd}};
}

Json branch_ratios(Model& model, const torch::Tensor& tokens) {
  const ops::Observer observer;
  model.logits(tokens);
  std::map<std::string, std::vector<double>> means;  // [activation], by layer
  for (const auto& [name, value] : observer.seen())
    means[name].push_back(token_norms(value).mean().item<double>());
  Json ratios = Json::object();
  for (const std::string branch : {"attn", "mlp"}) {
    const auto &in = means[branch + ".in"], &out = means[branch + ".out"];
    if (in.empty() || in.size() != out.size())
      throw UserError({.what = "this model does not name its branches, so their ratio is unknown",
                       .where = "probes",
                       .found = "branch_ratio"});
    ratios[branch] = Json::array();
    for (size_t i = 0; i < in.size(); ++i) ratios[branch].push_back(number(out[i] / in[i]));
  }
  return ratios;
}

/// Tokens 2 .. n of a half of n, each given all that stands before it: the first one of a repeated
/// half cannot be copied. Windows [B, T], n = T / 2.
Json copying(Model& model, const torch::Tensor& windows) {
  const int64_t n = windows.size(1) / 2;
  if (n < 2)
    throw UserError({.what = "a window has no half that could be copied",
                     .where = "probes",
                     .found = "copying, and windows of " + std::to_string(windows.size(1)),
                     .expected = "a context of 4 or more"});
  const auto loss = [&](const torch::Tensor& logits, const torch::Tensor& text, int64_t half) {
    const auto predictions = logits.slice(1, half, half + n - 1);
    const auto targets = text.slice(1, half + 1, half + n);
    const auto mean = torch::nn::functional::cross_entropy(
        predictions.flatten(0, 1).to(torch::kFloat), targets.flatten());
    return number(mean.item<double>());
  };
  const auto first = windows.slice(1, 0, n), twice = torch::cat({first, first}, 1);
  const auto of_text = model.logits(windows);
  return {{"first", loss(of_text, windows, 0)},
          {"repeated", loss(model.logits(twice), twice, n)},
          {"following", loss(of_text, windows, n)}};
}

Json model_diagnostics(Model& model) {
  Json json = Json::object();
  for (const auto& [name, value] : model.diagnostics()) json[name] = numbers(value);
  if (json.empty())
    throw UserError({.what = "this model has no diagnostics", .where = "probes", .found = "model"});
  return json;
}

/// "attn.q.weight": one number a layer; matrices outside of the blocks have one.
Json row_norms(Model& model) {
  Json json = Json::object();
  for (const auto& group : model.parameter_groups()) {
    if (group.tensor.dim() != 2) continue;
    const Json norm = number(token_norms(group.tensor.detach()).mean().item<double>());
    if (group.name.starts_with("blocks."))
      json[group.name.substr(group.name.find('.', 7) + 1)].push_back(norm);
    else
      json[group.name] = norm;
  }
  return json;
}

bool asked(const std::vector<std::string>& probes, const char* name) {
  return std::find(probes.begin(), probes.end(), name) != probes.end();
}

}  // namespace

const std::vector<std::string>& known_probes() {
  static const std::vector<std::string> names = {
      "branch_ratio",           "copying", "model", "optimizer", "residual_norm",
      "residual_norm_repeated", "row_norm"};
  return names;
}

Json probe(Model& model, const Optimizer& optimizer, const std::vector<std::string>& probes,
           const Batch& batch, torch::Device device) {
  torch::NoGradGuard no_grad;
  const auto tokens = batch_tensors(batch, device).first;
  Json json = step_diagnostics(model, optimizer, probes);
  if (asked(probes, "branch_ratio")) json["branch_ratio"] = branch_ratios(model, tokens);
  if (asked(probes, "copying")) json["copying"] = copying(model, tokens);
  if (asked(probes, "residual_norm")) json["residual_norm"] = norms_by_layer(model, tokens);
  if (asked(probes, "residual_norm_repeated"))
    json["residual_norm_repeated"] =
        norms_by_layer(model, tokens.slice(1, 0, 1).expand_as(tokens).contiguous());
  if (asked(probes, "row_norm")) json["row_norm"] = row_norms(model);
  return json;
}

Json probe_at_start(Model& model, const Optimizer& optimizer,
                    const std::vector<std::string>& probes, const Batch& batch,
                    torch::Device device) {
  const Json json = probe(model, optimizer, probes, batch, device);
  if (json.empty()) return json;  // an optimiser that has made no step has nothing to say
  const Json flat = json.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (value.is_null() && !pointer.starts_with("/optimizer"))
      throw UserError({.what = "a diagnostic is not a finite number before the first step",
                       .where = "probes",
                       .found = pointer,
                       .todo = "the model or one of its options is broken; nothing was trained"});
  return json;
}

Json step_diagnostics(Model& model, const Optimizer& optimizer,
                      const std::vector<std::string>& probes) {
  torch::NoGradGuard no_grad;
  Json json = Json::object();
  if (asked(probes, "model")) json["model"] = model_diagnostics(model);
  if (asked(probes, "optimizer"))
    for (const auto& [name, value] : optimizer.diagnostics())
      json["optimizer"][name] = number(value);
  return json;
}

}  // namespace normbench
