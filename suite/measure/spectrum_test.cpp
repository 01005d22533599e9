// Truth: linalg_eigvalsh of the same matrix.
#include "suite/measure/spectrum.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/base/errors.h"
#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"

namespace normbench {
namespace {

SymmetricMap map_of(const torch::Tensor& h) {
  return [h](const torch::Tensor& v) { return h.mv(v); };
}

/// Q diag(values) Q^T with a random orthogonal Q.
torch::Tensor with_eigenvalues(const torch::Tensor& values) {
  const auto n = values.size(0);
  const auto q = std::get<0>(torch::linalg_qr(normal_draw({n, n}, 1, /*seed=*/5, "q")));
  return q.mm(torch::diag(values)).mm(q.t());
}

torch::Tensor start(int64_t n) { return unit_draw(n, /*seed=*/5, "start"); }

/// Random, indefinite, dense near both ends.
torch::Tensor random_symmetric(int64_t n) {
  const auto g = normal_draw({n, n}, 1, /*seed=*/6, "g");
  return g + g.t();
}

TEST(Spectrum, LanczosFindsBothEnds) {
  for (const int64_t n : {1, 2, 7, 96}) {
    const auto h = random_symmetric(n);
    const auto truth = torch::linalg_eigvalsh(h);
    const auto ends = lanczos(map_of(h), start(n), {.tolerance = 1e-8, .max_steps = 96});
    const double norm = truth.abs().max().item<double>();
    // The error of an eigenvalue is of second order in the residual.
    EXPECT_NEAR(ends.smallest, truth[0].item<double>(), 1e-12 * norm) << n;
    EXPECT_NEAR(ends.largest, truth[-1].item<double>(), 1e-12 * norm) << n;
    EXPECT_NEAR(ends.norm(), norm, 1e-12 * norm) << n;
    EXPECT_LE(ends.residual(), 1e-8 * norm) << n;
  }
}

// As many steps as the space has dimensions, long after the ends are found.
TEST(Spectrum, LanczosKeepsTheEndsOverEighteenDecades) {
  const auto values = torch::logspace(-18, 0, 64, 10, torch::kDouble);
  const auto h = with_eigenvalues(torch::cat({values, -0.5 * values}));
  const auto ends = lanczos(map_of(h), start(128), {.tolerance = 0, .max_steps = 128});
  EXPECT_NEAR(ends.largest, 1, 1e-13);
  EXPECT_NEAR(ends.smallest, -0.5, 1e-13);
}

TEST(Spectrum, ACapIsReportedByTheResidual) {
  const auto h = random_symmetric(96);
  const auto ends = lanczos(map_of(h), start(96), {.max_steps = 4});
  EXPECT_EQ(ends.steps, 4);
  EXPECT_GT(ends.residual(), 1e-2 * ends.norm());
  const auto power = power_iteration(map_of(h), start(96), {.max_iterations = 3});
  EXPECT_FALSE(power.converged);
  EXPECT_EQ(power.iterations, 3);
  EXPECT_GT(power.residual, 1e-2);
  EXPECT_THROW(lanczos(map_of(h), start(96), {.max_steps = 0}), c10::Error);
}

TEST(Spectrum, PowerIterationFindsTheLargestMagnitude) {
  const double largest[] = {3, -3};
  for (const double end : largest) {
    auto values = torch::linspace(-2, 2, 64, torch::kDouble);
    values[10] = end;
    const auto found = power_iteration(map_of(with_eigenvalues(values)), start(64));
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.norm, 3, 1e-8) << end;  // tolerance 1e-10 over 1 - (2/3)^2
    EXPECT_LT(found.residual, 1e-4) << end;
  }
}

// The Rayleigh quotient of the vector that power iteration ends in, on a pair l and -l: what an
// implementation by v.Hv would report.
TEST(Spectrum, PowerIterationStandsOppositePairsWhereARayleighQuotientDoesNot) {
  auto values = torch::linspace(-1, 1, 64, torch::kDouble);
  values[3] = 3;
  values[40] = -3;
  const auto h = with_eigenvalues(values);
  const auto found = power_iteration(map_of(h), start(64));
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(found.norm, 3, 1e-8);
  EXPECT_LT(found.residual, 1e-4);

  auto v = start(64);
  for (int i = 0; i < 200; ++i) v = h.mv(v) / h.mv(v).norm();
  const double rayleigh = v.dot(h.mv(v)).item<double>();
  EXPECT_GT(std::abs(std::abs(rayleigh) - 3), 0.1);
  EXPECT_GT((h.mv(v) - rayleigh * v).norm().item<double>(), 0.1);  // and no eigenvector either
  const auto ends = lanczos(map_of(h), start(64));
  EXPECT_NEAR(ends.smallest, -3, 1e-10);
  EXPECT_NEAR(ends.largest, 3, 1e-10);
}

TEST(Spectrum, AMapToZeroHasNormZero) {
  const auto zero = [](const torch::Tensor& v) { return torch::zeros_like(v); };
  EXPECT_EQ(power_iteration(zero, start(5)).norm, 0);
  EXPECT_TRUE(power_iteration(zero, start(5)).converged);
  EXPECT_EQ(lanczos(zero, start(5)).norm(), 0);
}

TEST(Spectrum, AMapThatLeavesTheFiniteNumbersIsAnErrorOfTheOptions) {
  const auto overflow = [](const torch::Tensor& v) { return v * INFINITY; };
  EXPECT_THROW(lanczos(overflow, start(5)), UserError);
  EXPECT_THROW(spectral_norm(torch::full({2, 2}, NAN, torch::kDouble)), UserError);
}

}  // namespace
}  // namespace normbench
