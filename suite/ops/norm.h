// Norms over the last dimension. Sums run in fp32 or wider whatever the type of x; the result has
// the type of x.
#pragma once

#include <torch/types.h>

namespace normbench::ops {

/// y = x / sqrt(mean_j x_j^2 + eps) * gain. x: [..., D]; gain: [D], fp32 or the type of x.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, double eps);

/// y = x / ||x||_2. x: [..., D]. No eps: a row of zeros stays zero and has zero gradient (never
/// NaN).
torch::Tensor l2_norm(const torch::Tensor& x);

}  // namespace normbench::ops
