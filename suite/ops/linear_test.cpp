// Truth: the reference in double, central differences, and the library's cross-entropy.
#include "suite/ops/linear.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/fused.h"
#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

constexpr int64_t kVocabulary = 70;

Operator head(const torch::Tensor& targets, double loss_scale = 1) {
  return [=](const auto& in) {
    const auto scale = in.size() > 2 ? std::optional(in[2]) : std::nullopt;
    return loss_scale * linear_cross_entropy(in[0], in[1], scale, targets);
  };
}

torch::Tensor targets(int64_t rows) { return torch::arange(rows) * 37 % kVocabulary; }

std::vector<torch::Tensor> inputs(int64_t rows, torch::ScalarType type = torch::kFloat,
                                  bool scale = true) {
  std::vector<torch::Tensor> in = {normal({rows, 24}, "h", type),
                                   normal({kVocabulary, 24}, "weight", type)};
  if (scale) in.push_back(normal({kVocabulary}, "scale", type));
  return in;
}

// 300 rows, 24 and 70 terms a sum in fp32; scores reach 20, and an error of 20 * 6e-8 in a score is
// one of a probability.
constexpr double kTolerance = 20 * 20 * 6e-8;

TEST(LinearCrossEntropy, TheKernelAgreesWithTheReferenceInDouble) {
  for (const bool scale : {true, false}) {
    EXPECT_TRUE(takes_kernel(head(targets(300)), inputs(300, torch::kFloat, scale)));
    EXPECT_LT(kernel_error(head(targets(300)), inputs(300, torch::kFloat, scale)), kTolerance);
    // As a share of an accumulated gradient.
    EXPECT_LT(kernel_error(head(targets(300), 0.125), inputs(300, torch::kFloat, scale)),
              kTolerance);
  }
}

TEST(LinearCrossEntropy, TheLossWithoutGradientIsTheSameToTheLastBit) {
  const auto in = inputs(300);
  const auto with = value_and_gradients([](const auto& x) { return head(targets(300))(x); }, in)[0];
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(with / normal({}, "cotangent") * normal({}, "cotangent"), with));
  EXPECT_TRUE(torch::equal(head(targets(300))(in), with));
}

TEST(LinearCrossEntropy, GradientsAreTheCentralDifferences) {
  // Own error of the differences, op_testing.h, with scores near 20: fifth derivatives 20^5 / 30 *
  // 1e-12 = 1e-7 at worst.
  EXPECT_LT(central_difference_error(head(targets(3)), inputs(3, torch::kDouble), 3e-4), 1e-7);
}

TEST(LinearCrossEntropy, StridesAndThreadsChangeNoBit) {
  // On some processors the library's own products change a bit with the number of threads, which
  // is why threads are a part of the configuration. The kernel must add nothing to that.
  const auto in = inputs(300);
  const auto products = [](const auto& x) { return x[0].mm(x[1].t()); };
  if (thread_error(products, {in[0], in[1]}) == 0)
    EXPECT_EQ(thread_error(head(targets(300)), in), 0);
  else
    EXPECT_LT(thread_error(head(targets(300)), in), kTolerance);
  EXPECT_LT(stride_error(head(targets(300)), inputs(300)),
            kTolerance);  // the product reads other strides
}

TEST(LinearCrossEntropy, HugeLogitsGiveNoNanAndNanGivesNan) {
  auto in = inputs(4);
  for (const auto& t : value_and_gradients(head(targets(4)), {in[0] * 1e4, in[1], in[2]})) {
    EXPECT_TRUE(t.isfinite().all().item<bool>());
  }
  in[0][2][3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(head(targets(4))(in).isnan().item<bool>());
  in[0][2][3] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(head(targets(4))(in).isnan().item<bool>());
}

TEST(LinearCrossEntropy, WrongTargetsAreRefused) {
  const auto in = inputs(4);
  EXPECT_THROW(head(torch::full({4}, kVocabulary, torch::kLong))(in), c10::Error);
  EXPECT_THROW(head(torch::full({4}, -1, torch::kLong))(in), c10::Error);
  EXPECT_THROW(head(torch::zeros({3}, torch::kLong))(in), c10::Error);
}

TEST(LinearCrossEntropy, AWrongKernelWouldBeSeen) {
  const Operator shifted = [](const auto& in) {
    return head(in[0].scalar_type() == torch::kFloat ? targets(300).roll(1) : targets(300))(in);
  };
  EXPECT_GT(kernel_error(shifted, inputs(300)), 0.01);
}

TEST(Linear, ManyIsLinearOnceAWeight) {
  const auto x = normal({2, 50, 24}, "x");
  const std::vector<torch::Tensor> weights = {normal({24, 24}, "a"), normal({8, 24}, "b"),
                                              normal({8, 24}, "c")};
  const Operator many = [](const auto& in) {
    return torch::cat(linear_many(in[0], {in.begin() + 1, in.end()}), -1);
  };
  const Operator each = [](const auto& in) {
    std::vector<torch::Tensor> y;
    for (size_t i = 1; i < in.size(); ++i) y.push_back(ops::linear(in[0], in[i]));
    return torch::cat(y, -1);
  };
  std::vector<torch::Tensor> in = {x};
  in.insert(in.end(), weights.begin(), weights.end());
  const auto a = value_and_gradients(many, in), b = value_and_gradients(each, in);
  EXPECT_LT(worst_error(a, b), 40 * 6e-8);  // sums of 24 to 100 terms in another order
  EXPECT_EQ(linear_many(x, weights)[1].sizes(), torch::IntArrayRef({2, 50, 8}));
  EXPECT_LT(kernel_error(many, in), 40 * 6e-8);
}

TEST(Linear, MasterWeightsAreCastToTheTypeOfX) {
  const auto x = normal({3, 8}, "x").to(torch::kBFloat16);
  EXPECT_EQ(ops::linear(x, normal({4, 8}, "w")).scalar_type(), torch::kBFloat16);
  EXPECT_THROW(ops::linear(x, normal({8, 4}, "w")), c10::Error);
  EXPECT_EQ(ops::linear(torch::empty({0, 3, 8}), normal({4, 8}, "w")).sizes(),
            torch::IntArrayRef({0, 3, 4}));
}

}  // namespace
}  // namespace normbench::ops
