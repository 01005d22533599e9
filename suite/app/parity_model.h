// What the config of a golden model file means, in the words of the model registry.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/model.h"
#include "suite/app/parity_case.h"

namespace normbench {

struct ParityModel {
  std::string name;
  ModelSize size;
  Json options;       // for ModelEntry::make
  int64_t batch = 0;  // B
  // Leaf of a parameter whose gradient is zero in exact arithmetic: the file holds rounding noise.
  std::string vanishing_gradient;
  bool hessian = false;  // the file holds an activation Hessian instead of gradients
  bool has_optimizer = false;
  std::vector<double> lr;  // one a step
  Json optimizer_options;  // of adamw
  double clip_norm = 0;
};

/// Reads every key of the config, and compares the numbers that only repeat what the model computes
/// itself (softmax scale, nu factors, learning rates). Throws UserError on a key or a meaning that
/// it does not know.
ParityModel read_parity_model(ParityCase& golden);

/// Throws UserError when a model that has at least `num_parameters` is larger than the whole file,
/// which holds each of them: it would take all memory before its first shape is compared. In
/// floating point, so that sizes without sense do not overflow.
void require_parameters(const ParityCase& golden, double num_parameters);
/// A size that no model has counts as 0: the model refuses it by name.
inline double size_or_zero(int64_t size) { return static_cast<double>(std::max<int64_t>(size, 0)); }
/// Throws UserError unless a tensor of the file has the shape that its config says.
void require_shape(const std::string& name, const torch::Tensor& found, at::IntArrayRef expected);
/// Sets every weight to the file's param.<name>.
void load_parameters(ParityCase& golden, const std::vector<ParameterGroup>& groups);
/// Imposes each weight's constraint on unconstrained.<name> and compares with constrained.<name>.
void check_constraint(ParityCase& golden, const std::vector<ParameterGroup>& groups);

/// The part of it for un-normalised decoders, whose files have keys of their own; false when the
/// file is none of them.
bool read_parity_decoder(ParityCase& golden, const JsonObject& config, ParityModel& what);
std::vector<std::string> parity_decoder_kinds();

}  // namespace normbench
