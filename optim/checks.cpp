#include "optim/checks.h"

#include <torch/torch.h>

#include "suite/base/errors.h"
#include "suite/base/json.h"

namespace normbench {

void check_option(const std::string& optimizer, const std::string& name, double value, bool fits,
                  const std::string& expected) {
  if (!fits)
    throw UserError({.what = "an option of " + optimizer + " is out of range",
                     .where = name,
                     .found = Json(value).dump(),
                     .expected = expected});
}

void check_unused(const std::string& optimizer, const std::string& name, double value,
                  double unused, const std::string& condition) {
  if (value != unused)
    throw UserError({.what = "an option of " + optimizer + " would be without effect",
                     .where = name,
                     .found = Json(value).dump(),
                     .expected = Json(unused).dump() + ", unless " + condition});
}

void check_state(const std::map<std::string, torch::Tensor>& state,
                 const std::map<std::string, torch::Tensor>& from) {
  if (from.size() != state.size())
    throw UserError(
        {.what = "the checkpoint holds another number of optimiser tensors than the model needs",
         .found = std::to_string(from.size()),
         .expected = std::to_string(state.size())});
  for (const auto& [name, to] : state) {
    const auto found = from.find(name);
    if (found == from.end())
      throw UserError({.what = "the checkpoint lacks a part of the optimiser's state",
                       .where = name,
                       .todo = "was it written by another optimiser or another model?"});
    if (found->second.sizes() != to.sizes() || found->second.scalar_type() != to.scalar_type())
      throw UserError({.what = "the optimiser's state in the checkpoint does not fit the model",
                       .where = name});
  }
}

void restore_(std::map<std::string, torch::Tensor> state,
              const std::map<std::string, torch::Tensor>& from) {
  check_state(state, from);
  torch::NoGradGuard no_grad;
  for (auto& [name, to] : state) to.copy_(from.at(name));
}

}  // namespace normbench
