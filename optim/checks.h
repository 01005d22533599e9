// What every optimiser checks the same way: its options and a state that comes back from a file.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace normbench {

/// Throws UserError unless `fits`. `name` is the option's.
void check_option(const std::string& optimizer, const std::string& name, double value, bool fits,
                  const std::string& expected);

/// Copies every tensor of `from` into the one of the same name of `state`, whose tensors alias the
/// optimiser's own. Throws UserError unless both have the same names, shapes and types.
void restore_(std::map<std::string, torch::Tensor> state,
              const std::map<std::string, torch::Tensor>& from);

}  // namespace normbench
