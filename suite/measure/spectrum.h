// The ends of the spectrum of a symmetric map that is known by its products only. The library has
// no such solver (linalg_eigh wants the matrix), and these two are short.
// Source: Golub & Van Loan, Matrix Computations, 4th ed., 8.2.1 (power method), 10.1 and 10.3
// (Lanczos, reorthogonalisation: "twice is enough").
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>

namespace normbench {

using SymmetricMap = std::function<torch::Tensor(const torch::Tensor& v)>;  // [n] -> [n]

struct PowerOptions {
  double tolerance = 1e-10;       // stop when the estimate grows by less, relative, in one step
  int64_t max_iterations = 2000;  // products; a cap, not an error: see `converged`
};
struct PowerResult {
  double norm = 0;      // max |eigenvalue|, from below: the estimate never exceeds it
  double residual = 0;  // ||H^2 v - norm^2 v|| / norm^2: an eigenvalue of H^2 is that near
  int64_t iterations = 0;
  bool converged = false;
};
/// v <- Hv / ||Hv||, estimate ||Hv||. Not the Rayleigh quotient v.Hv: H is indefinite, and with
/// eigenvalues l and -l of equal size v.Hv stops anywhere in [-l, l] while ||Hv|| tends to l. For
/// the same reason the residual is that of H^2. A map that takes `start` to 0 has norm 0.
PowerResult power_iteration(const SymmetricMap& map, const torch::Tensor& start,
                            const PowerOptions& options = {});

struct LanczosOptions {
  double tolerance = 1e-8;  // stop when both residuals are below it, relative to the norm
  int64_t max_steps = 60;   // products; [n, max_steps] numbers are kept
};
struct LanczosResult {
  double smallest = 0, largest = 0;
  // ||H u - l u|| of the two Ritz vectors: an eigenvalue lies within it; the error itself is of
  // second order in it.
  double residual_smallest = 0, residual_largest = 0;
  int64_t steps = 0;

  double norm() const;      // max |eigenvalue|
  double residual() const;  // of that end
};
/// H Q = Q T + b q e^T with Q orthogonal to the last digit: every new vector is orthogonalised
/// against all earlier ones twice, without which copies of a found eigenvalue return. The ends are
/// those of the tridiagonal T (symmetric solver: real, sorted).
LanczosResult lanczos(const SymmetricMap& map, const torch::Tensor& start,
                      const LanczosOptions& options = {});

}  // namespace normbench
