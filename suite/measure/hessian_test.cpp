// Truth: central differences, and each closed form against double backward. What a wrong form looks
// like is shown too: without C, without the gain, without eps.
#include "suite/measure/hessian.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/measure/draws.h"

namespace normbench {
namespace {

constexpr uint64_t kSeed = 3;
constexpr int64_t kIn = 28, kOut = 20;

Layer layer(bool normalized, double eps = 0) {
  return {.weight = normal_draw({kOut, kIn}, 0.3, kSeed, "weight"),
          .gain = normalized ? 1 + normal_draw({kOut}, 0.3, kSeed, "gain") : torch::Tensor(),
          .eps = eps};
}

torch::Tensor point() { return normal_draw({kIn}, 1, kSeed, "x"); }

std::vector<std::pair<std::string, OutputLoss>> losses() {
  return {{"frozen",
           frozen_loss(normal_draw({kOut}, 1, kSeed, "g"), wishart_draw(kOut, kSeed, "hessian"))},
          {"squared", squared_loss(normal_draw({kOut}, 1, kSeed, "t"))},
          {"cross_entropy", cross_entropy_loss(normal_draw({50, kOut}, 0.5, kSeed, "head"), 7)}};
}

HessianProduct product_of(const Layer& f, const OutputLoss& loss) {
  return HessianProduct([&](const auto& x) { return loss.value(f(x)); }, point());
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

TEST(Hessian, ClosedFormsAgreeWithDoubleBackward) {
  for (const bool normalized : {false, true}) {
    for (const double eps : {0.0, 0.01}) {
      const auto f = layer(normalized, eps);
      for (const auto& [name, loss] : losses()) {
        const auto parts = layer_hessian(f, point(), loss.derivatives(f(point())));
        const auto product = product_of(f, loss);
        // 28 * 20 products of numbers near 1 and one cancellation of L against C: measured 3e-15.
        EXPECT_LT(distance(parts.total(), full_hessian(product)), 1e-13) << name << " " << eps;
      }
    }
  }
}

TEST(Hessian, AFormWithoutCurvatureGainOrEpsIsCaught) {
  const auto f = layer(true, 0.01);
  for (const auto& [name, loss] : losses()) {
    const auto truth = full_hessian(product_of(f, loss));
    const auto form = [&](const Layer& other) {
      return layer_hessian(other, point(), loss.derivatives(f(point())));
    };
    EXPECT_GT(distance(form(f).gauss_newton, truth), 1e-2) << name;
    auto no_gain = f, no_eps = f;
    no_gain.gain = torch::ones_like(f.gain);
    no_eps.eps = 0;
    EXPECT_GT(distance(form(no_gain).total(), truth), 1e-2) << name;
    EXPECT_GT(distance(form(no_eps).total(), truth), 1e-4) << name;
  }
}

TEST(Hessian, ProductsAreDifferencesOfTheGradient) {
  const auto f = layer(true);
  const auto v = unit_draw(kIn, kSeed, "v");
  for (const auto& [name, loss] : losses()) {
    // The frozen loss moves its y0 with x: a difference of it is no derivative.
    if (name == "frozen") continue;
    const auto gradient = [&, &l = loss](double step) {
      return HessianProduct([&](const auto& x) { return l.value(f(x)); }, point() + step * v)
          .gradient();
    };
    const double h = 1e-4;
    const auto slope = (gradient(h) - gradient(-h)) / (2 * h);
    // h^2 / 6 times the third derivative, near 1, is 2e-9; rounding 1e-16 / h is 1e-12.
    EXPECT_LT(distance(product_of(f, loss)(v), slope), 1e-6) << name;
  }
}

TEST(Hessian, LinearLayerAndLinearLossHaveNone) {
  const auto f = layer(false);
  const auto derivatives = losses()[0].second.derivatives(f(point()));
  EXPECT_EQ(layer_hessian(f, point(), derivatives).curvature.abs().max().item<double>(), 0);
  const auto g = unit_draw(kIn, kSeed, "g");
  const HessianProduct product([&](const auto& x) { return g.dot(x); }, point());
  EXPECT_EQ(product(g).abs().max().item<double>(), 0);
  EXPECT_EQ(distance(product.gradient(), g), 0);
}

TEST(Hessian, ItIsIndefinite) {
  const auto f = layer(true);
  const auto h = full_hessian(product_of(f, losses()[2].second));
  const auto ends = torch::linalg_eigvalsh(h);
  EXPECT_LT(ends[0].item<double>(), 0);
  EXPECT_GT(ends[-1].item<double>(), 0);
  EXPECT_EQ(spectral_norm(-h), spectral_norm(h));
}

TEST(Hessian, FusedKernelsAreRefused) {
  const auto w = normal_draw({kOut, kIn}, 0.3, kSeed, "weight").to(torch::kFloat);
  const Layer f{.weight = w, .gain = torch::ones({kOut})};
  EXPECT_THROW(
      HessianProduct([&](const auto& x) { return f(x).square().sum(); }, point().to(torch::kFloat)),
      c10::Error);
}

TEST(Hessian, WrongShapesAndSizesAreErrors) {
  const auto f = layer(true);
  EXPECT_THROW(layer_hessian(f, point(),
                             {.gradient = torch::zeros({kIn}, torch::kDouble),
                              .hessian = torch::zeros({kIn, kIn}, torch::kDouble)}),
               c10::Error);
  const HessianProduct big([](const auto& x) { return x.square().sum(); },
                           torch::ones({1025}, torch::kDouble));
  EXPECT_THROW(full_hessian(big), c10::Error);
  EXPECT_THROW(HessianProduct([](const auto& x) { return 2 * x; }, point()), c10::Error);
}

}  // namespace
}  // namespace normbench
