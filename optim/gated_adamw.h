// GatedAdamW: AdamW whose step fades where the gradient is small against a gate. "Training nGPT",
// arXiv 2608.01284; the paper leaves alpha, eps_gate and eps_num open, so that theirs are options.
//   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  m^, v^ corrected for their start at 0  (1)
//   d = sqrt(v^) + eps_num                                                                     (2)
//   gamma = sigmoid(a ln(d / eps_gate)) = d^a / (d^a + eps_gate^a)                             (3)
//   theta <- theta - lr (alpha gamma m^ / d + lambda theta)                                    (4)
// a = 1 is AdamW with eps = eps_num + eps_gate, because gamma / d = 1 / (d + eps_gate). a = 0 is
// Adam at half the rate; the decay is not halved. Below the gate the step is of degree a in the
// gradient: a = 1/2 lies halfway between Adam and plain descent. (3) is computed through logarithms
// and cannot overflow. Here lambda acts on the tensors whose group decays, as in adamw.h.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace normbench {

struct GatedAdamWOptions {
  // From the paper.
  double a = 0.5;  // steepness of the gate in ln d, 0 or more
  // Ours: the paper gives the symbols and no values.
  double eps_gate = 1e-8;  // d at which half of the step is left. It acts up to about 100 eps_gate:
                           // with gradients far above, a has no visible effect
  double eps_num = 1e-15;  // keeps d above 0
  double alpha = 1;        // factor on the gated step alone
  double beta1 = 0.9;      // decay of the first moment a step
  double beta2 = 0.95;     // decay of the second moment
  double weight_decay = 0.1;  // lambda; without effect on rows of unit norm, where 0 is usual

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("a", a, at_least(0));
    v.number("eps_gate", eps_gate, above(0));
    v.number("eps_num", eps_num, at_least(kLeastEps));
    v.number("alpha", alpha, above(0));
    v.number("beta1", beta1, share_below_one());
    v.number("beta2", beta2, share_below_one());
    v.number("weight_decay", weight_decay, at_least(0));
  }
};

class GatedAdamW : public Optimizer {
 public:
  /// Throws UserError when an option is out of range.
  GatedAdamW(const std::vector<ParameterGroup>& groups, const GatedAdamWOptions& options);

  void step(double lr) override;
  /// "m.<name>" and "v.<name>" (raw moments) and "t" (int64, steps made), as adamw.
  std::map<std::string, torch::Tensor> state() const override;
  void load_state(const std::map<std::string, torch::Tensor>& from) override;
  /// "mean_gate": gamma of the last step, averaged over all entries of all weights.
  std::map<std::string, double> diagnostics() const override;

  /// gamma of the last step, of the shape of the weight. Throws c10::Error for an unknown name.
  torch::Tensor gate(const std::string& name) const;

 private:
  struct Slot {
    std::string name;
    torch::Tensor theta, m, v;
    double weight_decay;
  };
  torch::Tensor denominator(const torch::Tensor& v) const;  // (2)
  torch::Tensor gamma(const torch::Tensor& d) const;        // (3)

  GatedAdamWOptions options_;
  std::vector<Slot> slots_;
  int64_t t_ = 0;
};

}  // namespace normbench
