#pragma once

#include <torch/types.h>

#include <string>

namespace normbench::ops {

/// w_i = std * z_i, z_i standard normal from the counter-based generator keyed by (seed, name): the
/// same numbers on every device, whatever else the model holds. Computed in double, rounded once to
/// the type of w.
void fill_normal_(torch::Tensor w, double std, uint64_t seed, const std::string& name);

}  // namespace normbench::ops
