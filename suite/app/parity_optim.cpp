// Golden files of optimisers: gradients are given, the parameters after every step and the state
// after the last one are compared.
#include <torch/torch.h>

#include "optim/angular_cap.h"
#include "optim/clip.h"
#include "optim/gated_adamw.h"
#include "optim/optimizer.h"
#include "suite/app/parity_case.h"

namespace normbench {

namespace {

struct Task {
  std::string optimizer;  // as in the registry
  Json options = Json::object();
  std::vector<ParameterGroup> groups = {};
  double clip_norm = 0;
  std::vector<std::string> moments = {};  // parts of the state that the file has, "m"
};

/// Every parameter of the file. `params` of the config, where there is one, names the axis of a
/// unit norm, the weight decay and whether the angular cap acts; returns whether it acts on any.
bool read_groups(ParityCase& golden, const JsonObject& config, Task& task) {
  for (const auto& name : golden.names_after("param."))
    task.groups.push_back(
        {.name = name, .tensor = golden.input("param." + name).requires_grad_(), .decay = true});
  double weight_decay = 0;
  bool any_capped = false;
  if (!config.has("params")) {
    weight_decay = config.required<double>("weight_decay");
  } else {
    const auto params = config.object("params");
    for (auto& group : task.groups) {
      const auto param = params.object(group.name);
      const bool capped = param.required<bool>("asc");
      any_capped = any_capped || capped;
      if (!param.raw("axis").is_null()) {
        group.constraint = RowConstraint::kUnit;
        group.axis = param.required<int64_t>("axis");
        group.embedding = !capped;
      } else if (capped) {
        param.fail("asc", "the angular cap acts on unit vectors only", "true");
      }
      const double decay = param.required<double>("weight_decay");
      group.decay = decay != 0;
      if (group.decay && weight_decay != 0 && decay != weight_decay)
        param.fail("weight_decay", "two different weight decays in one optimiser",
                   param.raw("weight_decay").dump());
      if (group.decay) weight_decay = decay;
      param.finish();
    }
    params.finish();
  }
  task.options["weight_decay"] = weight_decay;
  return any_capped;
}

void copy_numbers(const JsonObject& config, Task& task, std::initializer_list<const char*> names) {
  for (const char* name : names) task.options[name] = config.required<double>(name);
}

void read_adamw(ParityCase& golden, const JsonObject& config, Task& task) {
  task.moments = {"m", "v"};
  const bool capped = read_groups(golden, config, task);
  copy_numbers(config, task, {"beta1", "beta2"});
  task.optimizer == "adamw" ? copy_numbers(config, task, {"eps"})
                            : copy_numbers(config, task, {"a", "alpha", "eps_gate", "eps_num"});
  if (config.has("clip") && !config.raw("clip").is_null())
    task.clip_norm = config.required<double>("clip");
  if (config.optional<double>("norm_eps", 0) > 1e-12)
    config.fail("norm_eps", "the weight constraint has no eps");
  const bool tangent = config.optional<bool>("tangent_grad", false);
  if (capped || tangent) {
    task.optimizer += "_capped";
    task.options["cap"] = capped ? "proportional" : "off";
    task.options["tangent_gradient"] = tangent;
  }
  if (capped) {
    task.options["kappa_c"] = config.required<double>("kappa_c");
    task.options["theta_floor"] = config.required<double>("theta_floor");
  }
  // Without a cap its constants are words too.
  for (const char* word : {"kappa_c", "theta_floor", "clip_rule", "order", "theta_max",
                           "effect_of_dropping_the_floor"})
    config.ignore(word);
}

void read_muon(ParityCase& golden, const JsonObject& config, Task& task) {
  task.moments = {"momentum"};
  read_groups(golden, config, task);
  for (auto& group : task.groups) group.hidden_matrix = true;  // the file holds nothing else
  copy_numbers(config, task, {"momentum", "eps"});
  task.options["nesterov"] = config.required<bool>("nesterov");
  task.options["newton_schulz_steps"] = config.required<int64_t>("ns_steps");
  require_value<std::vector<double>>(config, "ns_coefficients", {3.4445, -4.775, 2.0315});
  const auto scale = config.required<std::string>("adjust_lr_fn");
  if (scale != "match_rms_adamw" && scale != "original")
    config.fail("adjust_lr_fn", "unknown", scale, "match_rms_adamw or original");
  task.options["scale"] = scale == "original" ? "spectral" : "rms";
}

/// The angles of a step, of the parameters under the cap. Returns {capped, all}.
std::pair<double, double> expect_angles(ParityCase& golden, const AngularCap& optimizer,
                                        const std::string& step) {
  double num_capped = 0, num = 0;
  for (const auto& [name, vectors] : optimizer.last_step()) {
    golden.expect("out.phi." + step + name, vectors.phi);
    golden.expect("out.capped." + step + name, vectors.capped);
    num_capped += vectors.capped.sum().item<double>();
    num += static_cast<double>(vectors.capped.numel());
  }
  return {num_capped, num};
}

void run(ParityCase& golden, const JsonObject& config, const Task& task) {
  const auto steps = config.required<int64_t>("steps");
  std::vector<double> capped_of;
  if (config.has("capped_of")) capped_of = config.required<std::vector<double>>("capped_of");
  const double mean_gate = config.optional<double>("mean_gamma_last_step", -1);
  for (const char* word : {"lr", "names", "update", "kind", "grads_of"}) config.ignore(word);
  config.finish();

  const auto lr = golden.input("input.lr");
  if (lr.numel() != steps)
    config.fail("steps", "input.lr has another length", std::to_string(lr.numel()));
  const auto optimizer =
      find_optimizer(task.optimizer).make(task.groups, JsonObject(task.options, "config"));
  const auto* cap = dynamic_cast<const AngularCap*>(optimizer.get());
  double num_capped = 0, num_vectors = 0;
  for (int64_t i = 1; i <= steps; ++i) {
    const std::string step = "step" + std::to_string(i) + ".";
    for (const auto& group : task.groups)
      group.tensor.mutable_grad() = golden.input("grad." + step + group.name);
    const double norm = clip_gradients_(task.groups, task.clip_norm);
    const std::string norm_name = "out.grad_norm.step" + std::to_string(i);
    if (golden.has(norm_name)) golden.expect(norm_name, torch::scalar_tensor(norm, torch::kDouble));
    optimizer->step(lr[i - 1].item<double>());
    if (cap) {
      const auto [capped, all] = expect_angles(golden, *cap, step);
      num_capped += capped;
      num_vectors += all;
    }
    for (const auto& group : task.groups) {
      constrain_(group);
      golden.expect("out." + step + group.name, group.tensor);
    }
  }
  if (!capped_of.empty()) {
    golden.expect_number("config.capped_of.0", num_capped, capped_of.at(0));
    golden.expect_number("config.capped_of.1", num_vectors, capped_of.at(1));
  }
  const auto state = optimizer->state();
  for (const auto& group : task.groups)
    for (const auto& moment : task.moments) {
      const auto name = moment + "." + group.name;
      golden.expect("out." + name, state.at(name));
    }
  if (const auto* gated = dynamic_cast<const GatedAdamW*>(optimizer.get())) {
    for (const auto& group : task.groups)
      golden.expect("out.gamma." + group.name, gated->gate(group.name));
    if (mean_gate >= 0)
      golden.expect_number("config.mean_gamma_last_step", optimizer->diagnostics().at("mean_gate"),
                           mean_gate);
  }
}

}  // namespace

std::string check_optim_parity(ParityCase& golden) {
  const auto config = golden.config();
  Task task{.optimizer = config.required<std::string>("optimizer")};
  if (task.optimizer == "adamw" || task.optimizer == "gated_adamw")
    read_adamw(golden, config, task);
  else if (task.optimizer == "muon")
    read_muon(golden, config, task);
  else
    config.fail("optimizer", "parity does not know this optimiser", "\"" + task.optimizer + "\"",
                "adamw, gated_adamw or muon");
  run(golden, config, task);
  return "optimiser " + task.optimizer;
}

}  // namespace normbench
