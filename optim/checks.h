// What every optimiser checks the same way: its options and a state that comes back from a file.
// A number in a message is the shortest that reads back to the same bits.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace normbench {

/// Throws UserError unless `fits`. `name` is the option's.
void check_option(const std::string& optimizer, const std::string& name, double value, bool fits,
                  const std::string& expected);

/// Throws UserError when `value` differs from `unused`, the option's default, although `condition`,
/// under which it has an effect, does not hold.
void check_unused(const std::string& optimizer, const std::string& name, double value,
                  double unused, const std::string& condition);

/// Throws UserError unless both have the same names, shapes and types.
void check_state(const std::map<std::string, torch::Tensor>& state,
                 const std::map<std::string, torch::Tensor>& from);

/// Copies every tensor of `from` into the one of the same name of `state`, whose tensors alias the
/// optimiser's own; none when check_state() throws.
void restore_(std::map<std::string, torch::Tensor> state,
              const std::map<std::string, torch::Tensor>& from);

}  // namespace normbench
