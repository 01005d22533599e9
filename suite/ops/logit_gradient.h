// Logit gradient preconditioning (LGP): the loss of scaled logits, with another gradient.
// "Training nGPT", arXiv 2608.01284. u = h W^T, z = s u, L = mean cross-entropy of softmax(z).
//   true:  dL/du = s dL/dz                        LGP:  dL/du := c dL/dz,  c = (s / mean(s))^q
// and from there dL/dh = W^T dL/du and dL/dW = (dL/du)^T h as usual; dL/ds stays true. c is no part
// of the graph. q = 1 is the true gradient divided by mean(s); q = 0 weighs all tokens equally.
// Other q are the gradient of no function. Where s may be negative, the paper is silent. Ours:
// q = 1 is s / |mean(s)|, which keeps the sign; other q but 0 use max(|s|, 1e-6) for s.
#pragma once

#include <torch/types.h>

#include <optional>

namespace normbench::ops {

/// c, [V]. s: [V], the effective scale.
torch::Tensor lgp_weights(const torch::Tensor& s, double q);

/// s u with the gradients of LGP, in any floating type. u: [..., V]; s: [V]. The values are those
/// of s * u.
torch::Tensor lgp_logits(const torch::Tensor& u, const torch::Tensor& s, double q);

/// linear_cross_entropy(h, weight, s, targets) with the gradients of LGP; without q, that function
/// itself. The value is its value for every q, to the last bit.
torch::Tensor lgp_cross_entropy(const torch::Tensor& h, const torch::Tensor& weight,
                                const torch::Tensor& s, const torch::Tensor& targets,
                                std::optional<double> q);

}  // namespace normbench::ops
