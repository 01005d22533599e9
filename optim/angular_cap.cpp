#include "optim/angular_cap.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "optim/checks.h"
#include "suite/base/errors.h"

namespace normbench {

CappedVectors angular_cap_(torch::Tensor w, const torch::Tensor& before, int64_t axis,
                           double theta_max) {
  torch::NoGradGuard no_grad;
  TORCH_CHECK(w.dim() == 2 && (axis == 0 || axis == 1) && w.sizes() == before.sizes(),
              "angular_cap_: w is ", w.sizes(), ", before is ", before.sizes(), ", axis ", axis,
              "; expected two matrices of one shape and axis 0 or 1");
  const auto norm = [axis](const torch::Tensor& x) {
    return x.square().sum(axis, /*keepdim=*/true).sqrt();
  };
  const auto safe = [](const torch::Tensor& x) { return x.masked_fill(x == 0, 1.0); };
  const auto candidate = w.to(torch::kDouble);
  const auto old = before.to(torch::kDouble);
  const auto old_norm = norm(old), w_hat = old / safe(old_norm);

  const auto c = (w_hat * candidate).sum(axis, /*keepdim=*/true);  // (2)
  const auto u = candidate - c * w_hat;
  const auto u_norm = norm(u);
  // A row that was zero has no direction to turn from.
  const auto phi = torch::atan2(u_norm, c).masked_fill(old_norm == 0, 0.0);
  const auto capped = phi > theta_max;
  const auto turned = std::cos(theta_max) * w_hat + std::sin(theta_max) * u / safe(u_norm);  // (4)
  // Exactly opposite: what is left of u is the rounding of c w^, some 1e-16 of c.
  const auto opposite = (c < 0) & (u_norm <= -1e-14 * c);
  const auto keep = (capped & opposite) | ((c == 0) & (u_norm == 0));
  // Once more to unit norm: near pi, u / ||u|| is not quite orthogonal to w^.
  w.copy_(torch::where(keep, before,
                       torch::where(capped, (turned / safe(norm(turned))).to(w.scalar_type()), w)));
  return {phi.squeeze(axis), capped.squeeze(axis)};
}

namespace {

void check_options(const AngularCapOptions& o) {
  check_limits(o, "angular_cap");
  if (o.cap == "constant")
    check_option("angular_cap", "theta_max", o.theta_max, o.theta_max > 0,
                 "above 0 for a constant cap");
  if (o.cap == "proportional")
    check_option("angular_cap", "theta_floor", o.theta_floor, o.theta_floor > 0 || o.kappa_c > 0,
                 "above 0, here or in kappa_c: no row could turn");

  const AngularCapOptions unused;
  const auto only_for = [](const char* cap, const char* name, double value, double default_value) {
    check_unused("angular_cap", name, value, default_value, std::string("cap is \"") + cap + "\"");
  };
  if (o.cap != "constant") only_for("constant", "theta_max", o.theta_max, unused.theta_max);
  if (o.cap != "proportional") {
    only_for("proportional", "kappa_c", o.kappa_c, unused.kappa_c);
    only_for("proportional", "theta_floor", o.theta_floor, unused.theta_floor);
  }
}

/// A setting without effect is an error: the record would name an optimiser that it was not.
[[noreturn]] void without_effect(const char* option, const std::string& found,
                                 const std::string& expected) {
  throw UserError({.what = "this angular cap would change nothing",
                   .where = option,
                   .found = found,
                   .expected = expected,
                   .todo = "take the optimizer whose name does not end in _capped"});
}

}  // namespace

AngularCap::AngularCap(std::unique_ptr<Optimizer> inner, const std::vector<ParameterGroup>& groups,
                       const AngularCapOptions& o)
    : inner_(std::move(inner)), options_(o) {
  check_options(o);
  for (const auto& group : groups) {
    if (group.constraint != RowConstraint::kUnit) continue;
    if (o.tangent_gradient) projected_.push_back(group);
    if (o.cap != "off" && !group.embedding) capped_.push_back(group);
  }
  const std::string unit_vectors = "a model whose weight vectors are held at norm 1";
  if (o.cap != "off" && capped_.empty()) without_effect("cap", "\"" + o.cap + "\"", unit_vectors);
  if (o.tangent_gradient && projected_.empty())
    without_effect("tangent_gradient", "true", unit_vectors);
  if (o.cap == "off" && !o.tangent_gradient)
    without_effect("cap", "\"off\"", "tangent_gradient, or another cap");
}

double AngularCap::theta_max(double lr, int64_t n) const {
  if (options_.cap == "constant") return options_.theta_max;
  return std::max(options_.kappa_c * lr * std::sqrt(static_cast<double>(n)), options_.theta_floor);
}

void AngularCap::step(double lr) {
  torch::NoGradGuard no_grad;
  for (const auto& group : projected_) {
    auto g = group.tensor.grad();
    if (g.defined()) g.sub_((g * group.tensor).sum(group.axis, /*keepdim=*/true) * group.tensor);
  }
  std::vector<torch::Tensor> before;
  for (const auto& group : capped_) before.push_back(group.tensor.detach().clone());  // (1)
  inner_->step(lr);
  for (size_t i = 0; i < capped_.size(); ++i)
    last_[capped_[i].name] = angular_cap_(capped_[i].tensor, before[i], capped_[i].axis,
                                          theta_max(lr, capped_[i].tensor.size(capped_[i].axis)));
}

std::map<std::string, double> AngularCap::diagnostics() const {
  auto numbers = inner_->diagnostics();
  if (last_.empty()) return numbers;
  std::vector<torch::Tensor> phi, capped;
  for (const auto& [name, vectors] : last_) {
    phi.push_back(vectors.phi);
    capped.push_back(vectors.capped);
  }
  numbers["capped_share"] = torch::cat(capped).to(torch::kDouble).mean().item<double>();
  const auto turns = torch::cat(phi);
  numbers["turn_median"] = turns.median().item<double>();
  numbers["turn_max"] = turns.max().item<double>();
  return numbers;
}

}  // namespace normbench
