#include "optim/checks.h"

#include <torch/torch.h>

#include "suite/base/errors.h"

namespace normbench {

void check_option(const std::string& optimizer, const std::string& name, double value, bool fits,
                  const std::string& expected) {
  if (!fits)
    throw UserError({.what = "an option of " + optimizer + " is out of range",
                     .where = name,
                     .found = std::to_string(value),
                     .expected = expected});
}

void restore_(std::map<std::string, torch::Tensor> state,
              const std::map<std::string, torch::Tensor>& from) {
  torch::NoGradGuard no_grad;
  if (from.size() != state.size())
    throw UserError(
        {.what = "the checkpoint holds another number of optimiser tensors than the model needs",
         .found = std::to_string(from.size()),
         .expected = std::to_string(state.size())});
  for (auto& [name, to] : state) {
    const auto found = from.find(name);
    if (found == from.end())
      throw UserError({.what = "the checkpoint lacks a part of the optimiser's state",
                       .where = name,
                       .todo = "was it written by another optimiser or another model?"});
    if (found->second.sizes() != to.sizes() || found->second.scalar_type() != to.scalar_type())
      throw UserError({.what = "the optimiser's state in the checkpoint does not fit the model",
                       .where = name});
    to.copy_(found->second);
  }
}

}  // namespace normbench
