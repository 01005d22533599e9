// Truth: the derivations in lerp_formula.h, the reference in double, and central differences of it.
#include "suite/ops/lerp.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/fused.h"
#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

struct Variant {
  std::string name;
  Operator op;
};

std::vector<Variant> variants() {
  return {
      {"lerp, both", [](const auto& in) { return lerp_normalize(in[0], in[1], in[2]); }},
      {"lerp, branch",
       [](const auto& in) {
         return lerp_normalize(in[0], in[1], in[2], LerpInputs::kNormalizeBranch);
       }},
      {"scaled", [](const auto& in) { return scaled_lerp(in[0], in[1], in[2], false); }},
      {"scaled, branch", [](const auto& in) { return scaled_lerp(in[0], in[1], in[2], true); }},
      {"scaled, scalar",
       [](const auto& in) { return scaled_lerp(in[0], in[1], in[2], false, NuAlpha::kScalar); }},
      {"scaled, branch, scalar",
       [](const auto& in) { return scaled_lerp(in[0], in[1], in[2], true, NuAlpha::kScalar); }},
  };
}

std::vector<torch::Tensor> inputs(torch::IntArrayRef shape,
                                  torch::ScalarType type = torch::kFloat) {
  return {normal(shape, "h", type), normal(shape, "y", type),
          normal({shape.back()}, "alpha", type) * 0.5};
}

// 300 rows of 96 in fp32: sums of up to 300 terms, errors of random sign, root 20 units of 6e-8,
// taken four times.
constexpr double kTolerance = 80 * 6e-8;

TEST(Lerp, KernelsAgreeWithTheReferenceInDouble) {
  for (const auto& [name, op] : variants()) {
    EXPECT_TRUE(takes_kernel(op, inputs({3, 100, 96}))) << name;
    EXPECT_LT(kernel_error(op, inputs({3, 100, 96})), kTolerance) << name;
    EXPECT_LT(kernel_error(op, inputs({5, 11})), kTolerance) << name;
  }
}

TEST(Lerp, GradientsAreTheCentralDifferences) {
  for (const auto& [name, op] : variants()) {
    EXPECT_LT(central_difference_error(op, inputs({3, 5}, torch::kDouble)), 1e-8)
        << name;  // own error, op_testing.h, x 10
  }
}

TEST(Lerp, StridesAndThreadsChangeNoBit) {
  for (const auto& [name, op] : variants()) {
    EXPECT_EQ(stride_error(op, inputs({3, 100, 16})), 0) << name;
    EXPECT_EQ(thread_error(op, inputs({3, 100, 16})), 0) << name;
  }
}

TEST(Lerp, EmptyTensorsPass) {
  for (const auto& [name, op] : variants()) EXPECT_EQ(op(inputs({0, 4})).numel(), 0) << name;
}

TEST(Lerp, ZeroRowsGiveNoNan) {
  auto in = inputs({3, 16});
  in[0][1].zero_();
  in[1][1].zero_();
  for (const bool on : {true, false}) {
    set_fused(on);
    for (const auto& [name, op] : variants()) {
      for (const auto& t : value_and_gradients(op, in))
        EXPECT_TRUE(t.isfinite().all().item<bool>()) << name;
      EXPECT_EQ(op(in)[1].abs().max().item<float>(), 0) << name;
    }
  }
  set_fused(true);
}

TEST(Lerp, NormalizedOutputHasUnitRowsAndTangentialGradients) {
  const auto in = inputs({5, 64});
  const auto result = value_and_gradients(variants()[0].op, in);
  EXPECT_LT((result[0].norm(2, -1) - 1).abs().max().item<float>(), 64 * 6e-8);
  // norm(h) and norm(y) do not feel the length of their rows. 64 products, the gradients are
  // near 1.
  EXPECT_LT((result[1] * in[0]).sum(-1).abs().max().item<float>(), 64 * 6e-8);
  EXPECT_LT((result[2] * in[1]).sum(-1).abs().max().item<float>(), 64 * 6e-8);
}

TEST(Lerp, AlphaZeroKeepsHAndAlphaOneTakesTheBranch) {
  const auto in = inputs({4, 32});
  const auto zero = torch::zeros({32}), one = torch::ones({32});
  EXPECT_TRUE(torch::equal(scaled_lerp(in[0], in[1], zero, true), in[0]));
  EXPECT_TRUE(torch::equal(scaled_lerp(in[0], in[1], one, false), in[1]));
  EXPECT_LT(relative_error(lerp_normalize(in[0], in[1], one), in[1] / in[1].norm(2, -1, true)),
            32 * 6e-8);
}

TEST(Lerp, ScaledLerpKeepsTheVarianceOfIndependentRows) {
  // nu is made for this: E[out^2] = nu^2 ((1 - a)^2 + a^2) = 1 for independent h, y of unit
  // variance.
  const auto h = normal({400, 500}, "h"), y = normal({400, 500}, "y");
  const double variance =
      scaled_lerp(h, y, torch::full({500}, 0.3), false).square().mean().item<double>();
  EXPECT_NEAR(
      variance, 1.0,
      4 * std::sqrt(2.0 / 200000));  // four standard errors of a variance from 200000 normals
}

TEST(Lerp, AWrongKernelWouldBeSeen) {
  const Operator swapped = [](const auto& in) {  // operands exchanged in fp32 only
    const bool fp32 = in[0].scalar_type() == torch::kFloat;
    return lerp_normalize(in[fp32 ? 1 : 0], in[fp32 ? 0 : 1], in[2]);
  };
  EXPECT_GT(kernel_error(swapped, inputs({5, 11})), 0.1);
}

}  // namespace
}  // namespace normbench::ops
