// AngularStepCap (ASC): no weight vector of unit norm turns by more than theta_max in one step.
// "Training nGPT", arXiv 2608.01284; the paper leaves theta_max(t) open, so that ours is an option.
//   w~ = w after the optimiser's update, w^ = w before it, of unit norm                        (1)
//   c = <w^, w~>,  u = w~ - c w^,  phi = atan2(||u||, c) in [0, pi]                            (2)
//   phi <= theta_max: w~ stays, and the weight constraint normalises it                        (3)
//   phi >  theta_max: w <- cos(theta_max) w^ + sin(theta_max) u / ||u||                        (4)
//   theta_max = max(kappa_c lr sqrt(n), theta_floor), n = length of the vector                 (5)
// (4) is the point of the great circle from w^ to w~ nearest to w~. atan2, because acos loses all
// digits of small angles; in fp64, because ||u|| is a small difference of fp32 rows. A w~ of zero,
// or exactly opposite to w^, has no direction: w^ is kept.
// Capped are the constrained vectors (RowConstraint::kUnit) that are no embedding
// (ParameterGroup::embedding); all others are the wrapped optimiser's alone.
// Not here: the weight constraint, which is the loop's next line and leaves (4) as it is.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace normbench {

struct CappedVectors {
  torch::Tensor phi;     // angle asked for, radian, fp64, one a vector
  torch::Tensor capped;  // bool: it was above the cap
};

/// (2) to (4) for every vector of w along `axis`, in place. before: w at (1), same shape.
CappedVectors angular_cap_(torch::Tensor w, const torch::Tensor& before, int64_t axis,
                           double theta_max);

struct AngularCapOptions {
  // Ours: the paper gives no value. Pure noise asks for about 0.23 lr sqrt(n) with beta1 = 0.9, so
  // that 0.25 caps every vector with a persistent gradient: watch the share of capped vectors.
  std::string cap = "proportional";  // (5); constant: theta_max; off: tangent_gradient alone
  double kappa_c = 0.25;             // both for `proportional`
  double theta_floor = 1e-4;         // radian; keeps a small rate from freezing the weights
  double theta_max = 0;              // radian, for `constant`
  // g <- g - <g, w^> w^ before the update, for every constrained vector, embeddings included. The
  // moments are not projected.
  bool tangent_gradient = false;

  template <class Visitor>
  void fields(Visitor& v) {
    v.choice("cap", cap, {"proportional", "constant", "off"});
    v.number("kappa_c", kappa_c, at_least(0));
    v.number("theta_floor", theta_floor, at_least(0));
    v.number("theta_max", theta_max, at_least(0));
    v.field("tangent_gradient", tangent_gradient);
  }
};

/// Any optimiser, under the cap. It has no state of its own.
class AngularCap : public Optimizer {
 public:
  /// Throws UserError when an option is out of range or without effect, as the cap is on a model
  /// without unit vectors.
  AngularCap(std::unique_ptr<Optimizer> inner, const std::vector<ParameterGroup>& groups,
             const AngularCapOptions& options);

  void step(double lr) override;
  std::map<std::string, torch::Tensor> state() const override { return inner_->state(); }
  void load_state(const std::map<std::string, torch::Tensor>& from) override {
    inner_->load_state(from);
  }
  /// The inner ones, and of the last step: "capped_share" of the vectors under the cap;
  /// "turn_median" and "turn_max", radian, of the angles that they asked for.
  std::map<std::string, double> diagnostics() const override;

  const Optimizer& inner() const { return *inner_; }
  /// What happened in the last step, by name; empty before it, and for weights without a cap.
  const std::map<std::string, CappedVectors>& last_step() const { return last_; }

 private:
  double theta_max(double lr, int64_t n) const;  // (5)

  std::unique_ptr<Optimizer> inner_;
  AngularCapOptions options_;
  std::vector<ParameterGroup> projected_, capped_;
  std::map<std::string, CappedVectors> last_;
};

}  // namespace normbench
