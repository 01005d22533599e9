// Truth: the formulas of logit_gradient.h in double, written out, and linear_cross_entropy.
#include "suite/ops/logit_gradient.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/fused.h"
#include "suite/ops/linear.h"
#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

constexpr int64_t kRows = 300, kVocabulary = 70;
const double kExponents[] = {0, 0.5, 1, 2};

torch::Tensor targets() { return torch::arange(kRows) * 37 % kVocabulary; }

/// h, W, s with 0.5 < s < 4.
std::vector<torch::Tensor> inputs(torch::ScalarType type = torch::kFloat) {
  return {normal({kRows, 24}, "h", type), normal({kVocabulary, 24}, "weight", type),
          (normal({kVocabulary}, "s", type) * 0.5).exp().clamp(0.5, 4)};
}

Operator lgp(std::optional<double> q) {
  return [=](const auto& in) { return lgp_cross_entropy(in[0], in[1], in[2], targets(), q); };
}

/// {loss, dL/dh, dL/dW, dL/ds}, each written out, for L = loss.
std::vector<torch::Tensor> by_hand(const std::vector<torch::Tensor>& in, double q) {
  const auto h = in[0].to(torch::kDouble), w = in[1].to(torch::kDouble),
             s = in[2].to(torch::kDouble);
  const auto u = h.mm(w.t());
  const auto z = s * u;
  auto dz = (z.softmax(-1) - torch::one_hot(targets(), kVocabulary)) / static_cast<double>(kRows);
  const auto c = (s / s.mean()).pow(q);
  return {torch::cross_entropy_loss(z, targets()), (dz * c).mm(w), (dz * c).t().mm(h),
          (dz * u).sum(0)};
}

std::vector<torch::Tensor> with_gradients(const Operator& op,
                                          const std::vector<torch::Tensor>& in) {
  std::vector<torch::Tensor> leaves;
  for (const auto& x : in) leaves.push_back(x.detach().clone().requires_grad_());
  const auto loss = op(leaves);
  loss.backward();
  std::vector<torch::Tensor> result = {loss.detach()};
  for (const auto& x : leaves) result.push_back(x.grad());
  return result;
}

void expect_near(const std::vector<torch::Tensor>& ours, const std::vector<torch::Tensor>& theirs,
                 double tolerance, const std::string& what) {
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_LT(relative_error(ours[i].to(torch::kDouble), theirs[i].to(torch::kDouble)), tolerance)
        << what << " " << i;
}

TEST(LogitGradient, IsTheFormulaOnBothPaths) {
  for (const double q : kExponents) {
    // Scores reach 60 in fp32, and an error of 60 * 6e-8 in a score is one of a probability.
    expect_near(with_gradients(lgp(q), inputs()), by_hand(inputs(), q), 60 * 10 * 6e-8, "fp32");
    const auto in = inputs(torch::kDouble);
    expect_near(with_gradients(lgp(q), in), by_hand(in, q), 1e-12, "fp64");  // 300 terms near 1
  }
}

TEST(LogitGradient, TheValueIsThatOfTheLossWithoutItToTheLastBit) {
  for (const auto type : {torch::kFloat, torch::kDouble})
    for (const double q : kExponents) {
      const auto in = inputs(type);
      const auto plain = linear_cross_entropy(in[0], in[1], in[2], targets());
      EXPECT_TRUE(with_gradients(lgp(q), in)[0].equal(plain)) << q;
      EXPECT_TRUE(lgp(q)(in).equal(plain)) << q;  // without a gradient
      const auto u = in[0].mm(in[1].t());
      EXPECT_TRUE(lgp_logits(u, in[2], q).equal(in[2] * u)) << q;
    }
}

TEST(LogitGradient, WithoutQItIsTheLossItselfToTheLastBit) {
  const auto ours = with_gradients(lgp(std::nullopt), inputs());
  const auto theirs = with_gradients(
      [](const auto& in) { return linear_cross_entropy(in[0], in[1], in[2], targets()); },
      inputs());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(ours[i].equal(theirs[i])) << i;
}

TEST(LogitGradient, ExponentOneIsTheTrueGradientOverTheMeanScale) {
  auto in = inputs(torch::kDouble);
  in[2][3] = -0.7;  // also where a scale is negative
  const auto one = with_gradients(lgp(1), in), off = with_gradients(lgp(std::nullopt), in);
  const auto mean = in[2].mean();
  expect_near({one[1] * mean, one[2] * mean, one[3]}, {off[1], off[2], off[3]}, 1e-12, "q = 1");
  // Any other exponent is something else: 1 and 0.5 differ by the spread of s.
  EXPECT_GT(relative_error(with_gradients(lgp(0.5), in)[1], one[1]), 0.05);
}

TEST(LogitGradient, AVanishingScaleLosesNoGradient) {
  auto in = inputs();
  in[2][5] = 0;
  in[2][6] = 1e-20;
  const auto plain = linear_cross_entropy(in[0], in[1], in[2], targets());
  const auto ours = with_gradients(lgp(0), in);
  EXPECT_TRUE(ours[0].equal(plain));
  expect_near(ours, by_hand(in, 0), 60 * 10 * 6e-8, "q = 0");  // as above
  EXPECT_GT(ours[2][5].abs().max().item<double>(), 1e-4);
  for (const auto& x : with_gradients(lgp(0.5), in)) EXPECT_TRUE(x.isfinite().all().item<bool>());
}

TEST(LogitGradient, ALossThatIsWeighedWeighsItsGradient) {
  const auto whole = with_gradients(lgp(0.5), inputs());
  const auto share = with_gradients([](const auto& in) { return 0.25 * lgp(0.5)(in); }, inputs());
  for (size_t i = 1; i < whole.size(); ++i) EXPECT_TRUE(share[i].equal(0.25 * whole[i])) << i;
}

TEST(LogitGradient, RefusesWrongShapesTargetsAndSecondDerivatives) {
  auto in = inputs();
  for (auto& x : in) x.requires_grad_();
  const auto call = [&](const torch::Tensor& s, const torch::Tensor& t) {
    return lgp_cross_entropy(in[0], in[1], s, t, 0.5);
  };
  EXPECT_THROW(call(torch::ones({3}), targets()), c10::Error);
  EXPECT_THROW(call(in[2], torch::full({kRows}, kVocabulary, torch::kLong)), c10::Error);
  EXPECT_THROW(call(in[2], torch::zeros({3}, torch::kLong)), c10::Error);
  EXPECT_TRUE(takes_kernel(lgp(0.5), inputs()));
}

}  // namespace
}  // namespace normbench::ops
