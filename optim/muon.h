// Muon: momentum, made orthogonal. Jordan et al., "Muon: an optimizer for hidden layers in neural
// networks" (2024); scale of the step from Liu et al., arXiv 2502.16982. A reference point from
// outside the four papers. Not here: bf16 products; arithmetic is in the type of the master weight.
//   B <- mu B + (1 - mu) G                                                                     (1)
//   U = mu B + (1 - mu) G with Nesterov, else B                                                (2)
//   X = U / max(||U||_F, eps), transposed when it has more rows than columns                   (3)
//   5 times: A = X X^T,  X <- 3.4445 X + (-4.7750 A + 2.0315 A A) X                            (4)
//   theta <- (1 - lr lambda) theta - lr scale X                                                (5)
//   scale = 0.2 sqrt(max(rows, columns))  or  sqrt(max(1, rows / columns))                     (6)
// For hidden matrices (ParameterGroup::hidden_matrix). Everything else, which is embeddings, head,
// routers, scales and convolutions, takes AdamW (adamw.h) at the same rate, which the first scale
// allows.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "optim/adamw.h"
#include "optim/optimizer.h"

namespace normbench {

struct MuonOptions {
  double momentum = 0.95;  // mu
  bool nesterov = true;
  int64_t newton_schulz_steps = 5;  // (4); fewer leave singular values further from 1
  double eps = 1e-7;                // (3)
  double weight_decay = 0.1;        // lambda, for the tensors whose group decays, AdamW's included
  // (6). rms: the step has the root mean square of AdamW's, and shares its rate; spectral: a step
  // of spectral norm 1 for wide matrices.
  std::string scale = "rms";
  double adam_beta1 = 0.9, adam_beta2 = 0.95, adam_eps = 1e-8;  // AdamW for the other tensors

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("momentum", momentum, share_below_one());
    v.field("nesterov", nesterov);
    v.number("newton_schulz_steps", newton_schulz_steps, between(1, 100));
    v.number("eps", eps, at_least(kLeastEps));
    v.number("weight_decay", weight_decay, at_least(0));
    v.choice("scale", scale, {"rms", "spectral"});
    v.number("adam_beta1", adam_beta1, share_below_one());
    v.number("adam_beta2", adam_beta2, share_below_one());
    v.number("adam_eps", adam_eps, at_least(kLeastEps));
  }
};

/// (3) and (4): the singular values of a matrix moved towards 1, into about 0.7 to 1.2.
torch::Tensor newton_schulz(const torch::Tensor& u, int64_t steps, double eps);

class Muon : public Optimizer {
 public:
  /// Throws UserError when an option is out of range.
  Muon(const std::vector<ParameterGroup>& groups, const MuonOptions& options);

  void step(double lr) override;
  /// "momentum.<name>", and AdamW's state for the other tensors ("t" counts the steps of both).
  std::map<std::string, torch::Tensor> state() const override;
  void load_state(const std::map<std::string, torch::Tensor>& from) override;

 private:
  struct Slot {
    std::string name;
    torch::Tensor theta, momentum;
    double weight_decay, scale;
  };
  MuonOptions options_;  // first: it is checked before adamw_ is made
  std::vector<Slot> slots_;
  AdamW adamw_;
};

}  // namespace normbench
