// The two residual updates on the sphere. h, y: [..., D], same type; alpha: [D], the effective
// value.
#pragma once

#include <torch/types.h>

namespace normbench::ops {

/// Which operands of nGPT's update are normalised first: `code` and `none` of models/ngpt.h's
/// residual_norm.
enum class LerpInputs { kNormalizeBoth, kNormalizeBranch };

/// h <- norm(A + alpha (B - A)), B = norm(y), A = norm(h) (kNormalizeBoth, the published code) or A
/// = h (kNormalizeBranch, the papers' equations). Source: arXiv 2410.01131 v2, (10), (11);
/// NVIDIA/ngpt model.py.
torch::Tensor lerp_normalize(const torch::Tensor& h, const torch::Tensor& y,
                             const torch::Tensor& alpha,
                             LerpInputs inputs = LerpInputs::kNormalizeBoth);

/// nu(alpha) element by element, or one scalar from the mean over the width.
enum class NuAlpha { kElementwise, kScalar };

/// h <- nu(alpha) (h + alpha (b - h)), nu(alpha) = (alpha^2 + (1 - alpha)^2)^(-1/2); scalar:
/// (mean_i(1 - 2 a_i + 2 a_i^2))^(-1/2). b = norm(y) when `normalize_branch`, else y. Source: arXiv
/// 2505.22014 v2, 4.3 and App. E (4.3 omits the exponent).
torch::Tensor scaled_lerp(const torch::Tensor& h, const torch::Tensor& y,
                          const torch::Tensor& alpha, bool normalize_branch,
                          NuAlpha nu = NuAlpha::kElementwise);

}  // namespace normbench::ops
