#include "suite/measure/spectrum.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "suite/measure/series.h"

namespace normbench {

PowerResult power_iteration(const SymmetricMap& map, const torch::Tensor& start,
                            const PowerOptions& options) {
  PowerResult result;
  auto v = start / start.norm();
  while (result.iterations < options.max_iterations && !result.converged) {
    const auto hv = map(v);
    const double before = result.norm;
    result.norm = hv.norm().item<double>();
    ++result.iterations;
    if (result.norm == 0) return {.iterations = result.iterations, .converged = true};
    result.converged =
        result.iterations > 1 && result.norm - before <= options.tolerance * result.norm;
    const auto next = hv / result.norm;
    if (result.converged || result.iterations == options.max_iterations)
      result.residual = (map(next) / result.norm - v).norm().item<double>();
    v = next;
  }
  return result;
}

double LanczosResult::norm() const { return std::max(std::abs(smallest), std::abs(largest)); }

double LanczosResult::residual() const {
  return std::abs(smallest) > std::abs(largest) ? residual_smallest : residual_largest;
}

namespace {

/// Ends of T = tridiag(beta, alpha, beta); next_beta is the one that leads out of it.
void read_ends(const std::vector<double>& alpha, const std::vector<double>& beta, double next_beta,
               LanczosResult& result) {
  const auto diagonal = torch::tensor(alpha, torch::kDouble);
  auto t = torch::diag(diagonal);
  if (!beta.empty()) {
    const auto side = torch::tensor(beta, torch::kDouble);
    t = t + torch::diag(side, 1) + torch::diag(side, -1);
  }
  const auto [values, vectors] = torch::linalg_eigh(t);
  const auto last = vectors[-1].abs() * next_beta;
  result.smallest = values[0].item<double>();
  result.largest = values[-1].item<double>();
  result.residual_smallest = last[0].item<double>();
  result.residual_largest = last[-1].item<double>();
}

}  // namespace

LanczosResult lanczos(const SymmetricMap& map, const torch::Tensor& start,
                      const LanczosOptions& options) {
  const auto steps = std::min(options.max_steps, start.numel());
  TORCH_CHECK(steps > 0, "lanczos: no step for ", start.numel(), " variables and a cap of ",
              options.max_steps);
  auto basis = torch::zeros({steps, start.numel()}, start.options());
  auto q = start / start.norm();
  std::vector<double> alpha, beta;
  LanczosResult result;
  for (int64_t j = 0;; ++j) {
    basis[j].copy_(q);
    auto w = map(q);
    alpha.push_back(w.dot(q).item<double>());
    const auto known = basis.narrow(0, 0, j + 1);
    for (int round = 0; round < 2; ++round) w = w - known.t().mv(known.mv(w));
    const double next_beta = w.norm().item<double>();
    require_finite("a product with the Hessian", next_beta);
    read_ends(alpha, beta, next_beta, result);
    result.steps = j + 1;
    const double enough = options.tolerance * result.norm();
    const bool found = result.residual_smallest <= enough && result.residual_largest <= enough;
    if (found || j + 1 == steps) return result;
    beta.push_back(next_beta);
    q = w / next_beta;
  }
}

}  // namespace normbench
