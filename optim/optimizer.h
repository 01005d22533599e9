// The contract of an optimiser. The learning rate comes from the loop; nothing else does.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "suite/base/options.h"
#include "suite/ops/parameter_group.h"

namespace normbench {

/// Smallest eps of a denominator: smaller ones are 0 in fp32, and a row that no token has touched
/// would be 0 / 0.
constexpr double kLeastEps = 1e-30;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update of every parameter that has a gradient, in place, outside autograd. Constraints are
  /// the loop's next line.
  virtual void step(double lr) = 0;
  /// Everything that a resumed run needs, by name ("m.blocks.0.attn.q.weight", "t"); load_state
  /// takes it back bit by bit, or throws UserError and leaves the optimiser as it was.
  virtual std::map<std::string, torch::Tensor> state() const = 0;
  virtual void load_state(const std::map<std::string, torch::Tensor>& state) = 0;
  /// Numbers about the last step for a diagnostic record ("capped_share"); costs nothing until
  /// asked.
  virtual std::map<std::string, double> diagnostics() const { return {}; }
};

struct OptimizerEntry {
  std::string name;
  std::string paper;
  Json default_options;
  Json added_options;  // names, see suite/base/options.h
  Json limits;         // {option: limit}, suite/base/limits.h
  std::unique_ptr<Optimizer> (*make)(std::vector<ParameterGroup> groups, const JsonObject& options);
};

const std::vector<OptimizerEntry>& optimizer_registry();
const OptimizerEntry& find_optimizer(const std::string& name);

}  // namespace normbench
