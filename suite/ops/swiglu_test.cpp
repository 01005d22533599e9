// Truth: the reference in double, the C library's exp and log in double, and central differences.
#include "suite/ops/swiglu.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "suite/ops/math_formula.h"
#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

const Operator kSwiGlu = [](const auto& in) { return swiglu(in[0], in[1]); };

std::vector<torch::Tensor> inputs(torch::IntArrayRef shape,
                                  torch::ScalarType type = torch::kFloat) {
  return {normal(shape, "gate", type) * 3, normal(shape, "up", type)};
}

TEST(SwiGlu, TheKernelAgreesWithTheReferenceInDouble) {
  EXPECT_TRUE(takes_kernel(kSwiGlu, inputs({3, 100, 50})));
  EXPECT_LT(kernel_error(kSwiGlu, inputs({3, 100, 50})), 10 * 6e-8);  // about ten roundings, no sum
}

TEST(SwiGlu, GradientsAreTheCentralDifferences) {
  EXPECT_LT(central_difference_error(kSwiGlu, inputs({3, 5}, torch::kDouble)),
            1e-8);  // own error, op_testing.h, x 10
}

TEST(SwiGlu, StridesAndThreadsChangeNoBit) {
  EXPECT_EQ(stride_error(kSwiGlu, inputs({3, 100, 16})), 0);
  EXPECT_EQ(thread_error(kSwiGlu, inputs({3, 100, 16})), 0);
}

TEST(SwiGlu, EmptyTensorsPass) { EXPECT_EQ(kSwiGlu(inputs({0, 4})).numel(), 0); }

TEST(SwiGlu, ExtremeGatesAreFinite) {
  const auto gate = torch::tensor({-1e30f, -200.0f, -88.0f, 0.0f, 88.0f, 200.0f, 1e30f});
  const auto result = value_and_gradients(kSwiGlu, {gate, torch::ones({7})});
  for (const auto& t : result) EXPECT_TRUE(t.isfinite().all().item<bool>());
  EXPECT_EQ(result[0][6].item<float>(), 1e30f);
  EXPECT_TRUE(swiglu(torch::full({1}, std::nanf("")), torch::ones({1})).isnan().item<bool>());
}

TEST(SwiGlu, AWrongKernelWouldBeSeen) {
  const Operator swapped = [](const auto& in) {
    return in[0].scalar_type() == torch::kFloat ? swiglu(in[1], in[0]) : swiglu(in[0], in[1]);
  };
  EXPECT_GT(kernel_error(swapped, inputs({5, 11})), 0.1);
}

TEST(MathFormula, ExpIsRightToTwoUnits) {
  double worst = 0;
  for (int i = 0; i <= 200000; ++i) {
    const float x = -86.9f + static_cast<float>(i) * (174.8f / 200000);
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(exp_formula(x) - exact) / exact);
  }
  EXPECT_LT(worst, 2 * 6e-8);
  EXPECT_EQ(exp_formula(0.0f), 1.0f);
  EXPECT_GT(worst, 0);
}

TEST(MathFormula, LogIsRightToDouble) {
  for (const float x :
       {1e-37f, 0.3f, 0.70710677f, 1.0f, 1.0000001f, 1.4142136f, 2.0f, 1000.0f, 3e38f}) {
    const double exact = std::log(static_cast<double>(x));
    EXPECT_NEAR(log_formula(x), exact, 4e-16 * std::max(1.0, std::abs(exact))) << x;
  }
}

}  // namespace
}  // namespace normbench::ops
