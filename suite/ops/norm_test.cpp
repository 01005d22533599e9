// Truth: the derivations in norm_formula.h, the reference in double, and central differences of it.
#include "suite/ops/norm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/fused.h"
#include "suite/ops/op_testing.h"
#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

using namespace testing;

constexpr double kEps = 1e-6;
const Operator kRms = [](const auto& in) { return rms_norm(in[0], in[1], kEps); };
const Operator kL2 = [](const auto& in) { return l2_norm(in[0]); };

// 300 rows (three blocks) of 96 entries in fp32, rounding unit 6e-8. Row sums have 96 terms, gain
// sums 300, but errors of random sign grow with the root: 20 units, taken four times.
constexpr double kTolerance = 80 * 6e-8;

std::vector<torch::Tensor> inputs(torch::ScalarType type = torch::kFloat) {
  return {normal({3, 100, 96}, "x", type), normal({96}, "gain", type)};
}

TEST(Norm, KernelsAgreeWithTheReferenceInDouble) {
  EXPECT_LT(kernel_error(kRms, inputs()), kTolerance);
  EXPECT_LT(kernel_error(kL2, {inputs()[0]}), kTolerance);
  for (const int64_t n :
       {3, 7, 8, 33}) {  // widths that fill no vector register; at 1 the gradient is 0
    EXPECT_LT(kernel_error(kRms, {normal({5, n}, "x"), normal({n}, "gain")}), kTolerance) << n;
    EXPECT_LT(kernel_error(kL2, {normal({5, n}, "x")}), kTolerance) << n;
  }
}

TEST(Norm, AKernelComputesFp32AndTheReferenceTheRest) {
  EXPECT_TRUE(takes_kernel(kRms, inputs()));
  EXPECT_TRUE(takes_kernel(kL2, {inputs()[0]}));
  EXPECT_FALSE(takes_kernel(kRms, inputs(torch::kDouble)));
  set_fused(false);
  EXPECT_FALSE(takes_kernel(kRms, inputs()));
  set_fused(true);
}

TEST(Norm, GradientsAreTheCentralDifferences) {
  const auto x = normal({3, 5}, "x", torch::kDouble), gain = normal({5}, "gain", torch::kDouble);
  EXPECT_LT(central_difference_error(kRms, {x, gain}),
            1e-8);  // the differences' own error, op_testing.h, x 10
  EXPECT_LT(central_difference_error(kL2, {x}), 1e-8);
}

TEST(Norm, StridesAndThreadsChangeNoBit) {
  EXPECT_EQ(stride_error(kRms, inputs()), 0);
  EXPECT_EQ(stride_error(kL2, {inputs()[0]}), 0);
  EXPECT_EQ(thread_error(kRms, inputs()), 0);
}

TEST(Norm, EmptyTensorsPass) {
  for (const auto& y :
       {l2_norm(torch::empty({0, 8})), rms_norm(torch::empty({0, 8}), torch::ones({8}), kEps)}) {
    EXPECT_EQ(y.sizes(), torch::IntArrayRef({0, 8}));
  }
}

TEST(Norm, ARowOfZerosStaysZeroAndHasNoGradient) {
  for (const bool on : {true, false}) {
    set_fused(on);
    auto x = normal({3, 8}, "x");
    x[1].zero_();
    const auto result = value_and_gradients(kL2, {x});
    for (const auto& t : result) {
      EXPECT_TRUE(t.isfinite().all().item<bool>());
      EXPECT_EQ(t[1].abs().max().item<float>(), 0);
      EXPECT_GT(t[2].abs().max().item<float>(), 0);
    }
  }
  set_fused(true);
}

TEST(Norm, L2GradientIsOrthogonalToTheRow) {
  const auto x = normal({4, 64}, "x");
  const auto dx = value_and_gradients(kL2, {x})[1];
  EXPECT_LT((dx * x).sum(-1).abs().max().item<float>(),
            64 * 6e-8);  // 64 products near 1/8, rounding unit 6e-8
  const auto y = value_and_gradients(kRms, {x, torch::ones({64})})[1];
  EXPECT_LT((y * x).sum(-1).abs().max().item<float>(),
            8 * 64 * 6e-8);  // rms rows are 8 = sqrt(64) times longer
}

TEST(Norm, NoEpsHidesInTheL2Norm) {
  // Rows of size 1e-12: an eps of 1e-12 under the root would shrink them to a millionth.
  const auto x = normal({2, 16}, "x") * 1e-12f;
  EXPECT_LT((l2_norm(x).norm(2, -1) - 1).abs().max().item<float>(), 16 * 6e-8);
}

TEST(Norm, Bf16IsSummedInFp32) {
  const auto x = normal({4, 512}, "x").to(torch::kBFloat16);
  const auto y = l2_norm(x);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  // Rounded once: half a unit of 8 bits.
  EXPECT_LT(relative_error(y.to(torch::kFloat), l2_norm(x.to(torch::kFloat))), 1.0 / 256);
}

TEST(Norm, AWrongKernelWouldBeSeen) {
  const Operator off = [](const auto& in) {  // an eps 1e-4 too large, only in fp32
    return rms_norm(in[0], in[1], in[0].scalar_type() == torch::kFloat ? 1e-4 : kEps);
  };
  EXPECT_GT(kernel_error(off, inputs()), kTolerance);
  const Operator cut = [](const auto& in) {
    return l2_norm(in[0].detach()) + 0 * in[0];
  };  // value right, gradient not
  EXPECT_GT(central_difference_error(cut, {normal({3, 5}, "x", torch::kDouble)}), 1e-3);
  const Operator by_layout = [](const auto& in) {
    return in[0] * static_cast<double>(in[0].stride(0));
  };
  EXPECT_GT(stride_error(by_layout, {inputs()[0]}), 0);
  const Operator by_threads = [](const auto& in) {
    return in[0] * static_cast<double>(torch::get_num_threads());
  };
  EXPECT_GT(thread_error(by_threads, {inputs()[0]}), 0);
}

}  // namespace
}  // namespace normbench::ops
