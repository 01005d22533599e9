// FLOPs of training on one token:
//   F = 6 (N - N_idle) + 6 A T H Dh
//   N         parameters, as the run's record counts them: forward 2 FLOPs a weight, backward 4
//   N_idle    weights that multiply nothing for this token: the V D of the input embedding, which
//   is
//             looked up (none where the head is the same matrix), T D of learned positions, and
//             m (E - k) D F_e in each layer of experts, m = 2 matrices, 3 with a gate
//   A T H Dh  layers with attention, context, heads times their width: scores and weighted sum over
//             the causal half, 2 T H Dh forward, three times that with the backward pass
// Not counted: norms, softmax, activations, the scan of Mamba-2, the optimizer. What two arms of
// one size differ in by these is seen in seconds, not here. V vocabulary, T context, D width, E
// experts, k of them a token, F_e their width.
#pragma once

#include "suite/base/json.h"
#include "suite/judge/input.h"

namespace normbench {

/// N_idle and 6 A T H Dh of a run's configuration.
TokenCost token_cost(const Json& config);

}  // namespace normbench
