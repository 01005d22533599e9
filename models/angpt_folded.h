// anGPT for inference: every constant of the architecture is folded into a weight, which changes no
// logit (tested to 1e-9 in float64). The paper says that this is possible (arXiv 2505.22014
// v2, 4.2) and gives no formula; ours:
//   W_qkv <- nu_qkv W_qkv      W_p <- nu_p W_p      W_u <- nu_uz W_u      W_z <- sqrt(D) nu_uz W_z
//   W_d <- nu_acf nu_d W_d     W_h <- diag(s_z) W_h
//   lerp_keep = nu(alpha) (1 - alpha)      lerp_add = nu(alpha) alpha
//   h <- lerp_keep h + lerp_add norm(branch)
// What cannot be folded: the norms of q, k and of both branches, and g.
#pragma once

#include <map>
#include <string>

#include "models/angpt.h"

namespace normbench {

class AngptFolded {
 public:
  explicit AngptFolded(Angpt& model);
  /// logits [B, T, V] of the same tokens as Angpt::logits(). No gradients.
  torch::Tensor logits(const torch::Tensor& tokens);
  /// By the names of the model's parameters, without the scales, with
  /// blocks.<i>.{attn,mlp}.lerp_{keep,add}.
  const std::map<std::string, torch::Tensor>& weights() const { return weights_; }

 private:
  torch::Tensor attention(const torch::Tensor& h, const std::string& block);
  torch::Tensor mlp(const torch::Tensor& h, const std::string& block) const;

  ModelSize size_;
  torch::ScalarType compute_type_;
  Rope rope_;
  std::map<std::string, torch::Tensor> weights_;
};

}  // namespace normbench
