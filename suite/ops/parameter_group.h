// What models, optimisers and the training loop say to each other about one weight.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace normbench {

/// Constraint on the L2 norm of each row of a matrix, imposed after every optimiser step.
enum class RowConstraint {
  kNone,
  kUnit,   // equal to 1 (nGPT)
  kBound,  // at most 1 (anGPT); rows below 1 stay bit-identical
};

struct ParameterGroup {
  std::string name;      // as in checkpoints and golden files: "blocks.0.attn.q.weight"
  torch::Tensor tensor;  // the fp32 (or fp64) master weight, a leaf
  bool decay = false;    // takes part in weight decay
  RowConstraint constraint = RowConstraint::kNone;
  int64_t axis =
      1;  // the axis over which the constrained norm is summed: 1 = input dimension of [out, in]
  // Fields, because an optimiser knows no model's names:
  // a table with a row a token, into the model or out of it, which the angular cap leaves out;
  bool embedding = false;
  // a matrix [out, in] between two hidden vectors, which Muon makes orthogonal. Not an embedding,
  // not a head, not a router, not a table of positions, and no scales that have two dimensions.
  bool hidden_matrix = false;
};

/// Imposes the constraint in place, in the tensor's own precision, outside autograd. A zero row
/// stays zero.
void constrain_(const ParameterGroup& group);

}  // namespace normbench
