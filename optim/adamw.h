// AdamW. Loshchilov & Hutter, arXiv 1711.05101, Algorithm 2. State and arithmetic in the type of
// the master weight. Differs, as LibTorch does: the decay is lr * lambda; line 12 has eta_t *
// lambda without the base rate. Adam is weight_decay = 0.
//   t <- t + 1;  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2                (lines 5, 7, 8)
//   m^ = m / (1 - b1^t);  v^ = v / (1 - b2^t)                                       (lines 9, 10)
//   theta <- theta - lr (m^ / (sqrt(v^) + eps) + lambda theta)                          (line 12)
#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace normbench {

struct AdamWOptions {
  double beta1 = 0.9;  // decay of the first moment a step
  double beta2 =
      0.95;  // decay of the second moment; anGPT's sweep takes 0.99 below 100 M parameters
  double eps =
      1e-8;  // added to sqrt(v^): LibTorch's default, nGPT's value; the anGPT paper has 1e-9
  double weight_decay = 0.1;  // lambda, on the tensors whose group decays; 0 for nGPT and anGPT
  // plain: the lines above, one after the other. fused: LibTorch's kernel for fp32 on the CPU,
  // equal within rounding. auto: fused where it exists.
  std::string implementation = "auto";

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("beta1", beta1, share_below_one());
    v.number("beta2", beta2, share_below_one());
    v.number("eps", eps, at_least(kLeastEps));
    v.number("weight_decay", weight_decay, at_least(0));
    v.choice("implementation", implementation, {"auto", "plain", "fused"});
  }
};

class AdamW : public Optimizer {
 public:
  /// Throws UserError when `fused` is asked for and a weight is not fp32 on the CPU, or an option
  /// is out of range.
  AdamW(const std::vector<ParameterGroup>& groups, const AdamWOptions& options);

  void step(double lr) override;
  /// "m.<name>" and "v.<name>" (raw moments) and "t" (int64, steps made).
  std::map<std::string, torch::Tensor> state() const override;
  void load_state(const std::map<std::string, torch::Tensor>& state) override;

 private:
  struct Slot {
    std::string name;
    torch::Tensor theta, m, v;
    double weight_decay;
  };
  void step_plain(double lr);
  void step_fused(double lr);

  AdamWOptions options_;
  std::vector<Slot> slots_;
  int64_t t_ = 0;
  bool fused_ = false;
};

}  // namespace normbench
