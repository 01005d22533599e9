// Golden files of optimisers: gradients are given, the parameters after every step and the raw
// moments are compared.
#include <torch/torch.h>

#include "optim/clip.h"
#include "optim/optimizer.h"
#include "suite/app/parity_case.h"

namespace normbench {

namespace {

/// Every parameter of the file; `params` of the config names the axis of a unit norm and the weight
/// decay of each.
std::vector<ParameterGroup> read_groups(ParityCase& golden, const JsonObject& config,
                                        double& weight_decay) {
  std::vector<ParameterGroup> groups;
  for (const auto& name : golden.names_after("param."))
    groups.push_back(
        {.name = name, .tensor = golden.input("param." + name).requires_grad_(), .decay = true});
  if (!config.has("params")) {
    weight_decay = config.required<double>("weight_decay");
    return groups;
  }
  const auto params = config.object("params");
  for (auto& group : groups) {
    const auto param = params.object(group.name);
    if (!param.raw("axis").is_null()) {
      group.constraint = RowConstraint::kUnit;
      group.axis = param.required<int64_t>("axis");
    }
    require_value(param, "asc", false);
    const double decay = param.required<double>("weight_decay");
    group.decay = decay != 0;
    if (group.decay && weight_decay != 0 && decay != weight_decay)
      param.fail("weight_decay", "two different weight decays in one optimiser",
                 param.raw("weight_decay").dump());
    if (group.decay) weight_decay = decay;
    param.finish();
  }
  params.finish();
  return groups;
}

void check_adamw(ParityCase& golden, const JsonObject& config) {
  double weight_decay = 0, clip_norm = 0;
  const auto groups = read_groups(golden, config, weight_decay);
  if (config.has("clip") && !config.raw("clip").is_null())
    clip_norm = config.required<double>("clip");
  require_value(config, "tangent_grad", false);
  if (config.optional<double>("norm_eps", 0) > 1e-12)
    config.fail("norm_eps", "the weight constraint has no eps");
  const auto steps = config.required<int64_t>("steps");
  const Json options = {{"beta1", config.required<double>("beta1")},
                        {"beta2", config.required<double>("beta2")},
                        {"eps", config.required<double>("eps")},
                        {"weight_decay", weight_decay}};
  // kappa_c and theta_floor belong to the angular cap, which no parameter of such a file uses (asc
  // is false).
  for (const char* word : {"lr", "names", "update", "kind", "grads_of", "clip_rule", "kappa_c",
                           "theta_floor", "order", "theta_max"})
    config.ignore(word);
  config.finish();

  const auto lr = golden.input("input.lr");
  if (lr.numel() != steps)
    config.fail("steps", "input.lr has another length", std::to_string(lr.numel()));
  const auto optimizer = find_optimizer("adamw").make(groups, JsonObject(options, "config"));
  for (int64_t i = 1; i <= steps; ++i) {
    const std::string step = "step" + std::to_string(i) + ".";
    for (const auto& group : groups)
      group.tensor.mutable_grad() = golden.input("grad." + step + group.name);
    clip_gradients_(groups, clip_norm);
    optimizer->step(lr[i - 1].item<double>());
    for (const auto& group : groups) {
      constrain_(group);
      golden.expect("out." + step + group.name, group.tensor);
    }
  }
  const auto state = optimizer->state();
  for (const auto& group : groups)
    for (const std::string moment : {"m.", "v."})
      golden.expect("out." + moment + group.name, state.at(moment + group.name));
}

}  // namespace

std::string check_optim_parity(ParityCase& golden) {
  const auto config = golden.config();
  const auto name = config.required<std::string>("optimizer");
  if (name != "adamw")
    config.fail("optimizer", "parity does not know this optimiser", "\"" + name + "\"", "adamw");
  check_adamw(golden, config);
  return "optimiser " + name;
}

}  // namespace normbench
