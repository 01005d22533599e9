// Truth: the recurrence token after token (reference::ssd), in double. Golden values: parity.
#include "suite/ops/ssd.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

constexpr int64_t kTokens = 37;  // no multiple of any chunk below but 37

std::vector<torch::Tensor> inputs(torch::ScalarType type = torch::kDouble,
                                  int64_t tokens = kTokens) {
  const auto dt = normal({2, tokens, 4}, "dt").exp() * 0.3;
  const auto A = -normal({4}, "A").exp();
  return {normal({2, tokens, 4, 5}, "x").to(type),
          dt.to(type),
          A.to(type),
          normal({2, tokens, 2, 3}, "B").to(type),
          normal({2, tokens, 2, 3}, "C").to(type),
          normal({4}, "D").to(type),
          normal({2, 4, 5, 3}, "state").to(type)};
}

SsdInput named(const std::vector<torch::Tensor>& in) {
  return {.x = in[0], .dt = in[1], .A = in[2], .B = in[3], .C = in[4], .D = in[5], .state = in[6]};
}

/// Outputs and the last state as one tensor, so that gradients flow from both.
torch::Tensor together(const SsdResult& r) {
  return torch::cat({r.y.flatten(), r.state.flatten()});
}

Operator chunked(int64_t chunk) {
  return [chunk](const auto& in) { return together(ssd(named(in), chunk)); };
}
Operator one_by_one() {
  return [](const auto& in) { return together(reference::ssd(named(in))); };
}

TEST(Ssd, TheChunkDoesNotChangeValueOrGradients) {
  const auto truth = value_and_gradients(one_by_one(), inputs());
  // 1 is the recurrence, 37 one chunk, 64 a chunk longer than the text, the others leave a rest.
  for (const int64_t chunk : {1, 4, 8, 16, 36, 37, 64})
    EXPECT_LT(worst_error(value_and_gradients(chunked(chunk), inputs()), truth), 1e-12)
        << chunk;  // double: sums of up to 37 terms, each a product of 37 decays
}

TEST(Ssd, GradientsAreTheDerivatives) {
  EXPECT_LT(central_difference_error(chunked(4), inputs(torch::kDouble, 7)), 1e-7);
}

TEST(Ssd, SinglePrecisionStaysNearDouble) {
  const auto exact = value_and_gradients(chunked(16), inputs());
  auto single = value_and_gradients(chunked(16), inputs(torch::kFloat));
  for (auto& t : single) t = t.to(torch::kDouble);
  EXPECT_LT(worst_error(single, exact), 37 * 6e-8 * 4);  // sums of 37 terms in fp32
}

TEST(Ssd, WithoutAStateItStartsFromZeros) {
  auto in = inputs();
  in[6].zero_();
  auto without = named(in);
  without.state = torch::Tensor();
  EXPECT_LT(worst_error({together(ssd(without, 8))}, {together(ssd(named(in), 8))}), 1e-15);
}

TEST(Ssd, GoesOnWhereItStopped) {
  const auto in = named(inputs());
  const auto whole = ssd(in, 8);
  const auto part = [&](int64_t first, int64_t count, const torch::Tensor& state) {
    const auto cut = [&](const torch::Tensor& t) { return t.narrow(1, first, count); };
    return ssd({.x = cut(in.x),
                .dt = cut(in.dt),
                .A = in.A,
                .B = cut(in.B),
                .C = cut(in.C),
                .D = in.D,
                .state = state},
               8);
  };
  const auto head = part(0, 21, in.state), tail = part(21, kTokens - 21, head.state);
  EXPECT_LT(worst_error({torch::cat({head.y, tail.y}, 1), tail.state}, {whole.y, whole.state}),
            1e-13);
}

TEST(Ssd, LaterTokensChangeNothingBefore) {
  auto in = inputs();
  const auto before = ssd(named(in), 8).y;
  for (const size_t i : {0, 1, 3, 4}) in[i] = in[i].clone();
  for (const size_t i : {0, 1, 3, 4}) in[i].slice(1, 20).mul_(1.5);
  const auto difference = (ssd(named(in), 8).y - before).abs().amax({0, 2, 3});
  EXPECT_EQ(difference.narrow(0, 0, 20).max().item<double>(), 0);
  EXPECT_GT(difference.narrow(0, 20, kTokens - 20).min().item<double>(), 1e-6);
}

/// The largest step and the fastest decay of Mamba-2's start: exponents down to -16 * 37.
std::vector<torch::Tensor> extreme() {
  auto in = inputs(torch::kFloat);
  in[1] = torch::full_like(in[1], 1.0);
  in[1].select(1, 3).fill_(60);
  in[2] = torch::full_like(in[2], -16.0);
  return in;
}

TEST(Ssd, LargeStepsHaveFiniteGradients) {
  for (const int64_t chunk : {8, 64})
    for (const auto& t : value_and_gradients(chunked(chunk), extreme()))
      EXPECT_TRUE(t.isfinite().all().item<bool>()) << chunk;
}

/// The fault that decay_between() avoids: exponents of the empty half overflow before they are
/// masked.
torch::Tensor masked_after_exp(const torch::Tensor& a) {
  const auto sums = a.cumsum(-1);
  return (sums.unsqueeze(-2) - sums.unsqueeze(-1)).exp().triu();
}

TEST(Ssd, MaskingAfterExpWouldLoseTheGradient) {
  const auto gradient = [](auto decay) {
    auto a = torch::full({3, 32}, -16.0).requires_grad_();
    const auto m = decay(a);
    m.sum().backward();
    EXPECT_TRUE(m.isfinite().all().template item<bool>());
    return a.grad();
  };
  EXPECT_TRUE(gradient(decay_between).isfinite().all().item<bool>());
  EXPECT_FALSE(gradient(masked_after_exp).isfinite().all().item<bool>());
}

// Terms near 1 after many of size 1: a difference of two long sums has lost the digits that exp
// needs.
TEST(Ssd, ExponentsAreSumsAndNotDifferences) {
  const auto a = -normal({64, 256}, "a").abs();
  const auto exact = decay_between(a.to(torch::kDouble));
  const auto error = [&](const torch::Tensor& m) {
    return (m.to(torch::kDouble) - exact).abs().max().item<double>();
  };
  EXPECT_LT(error(decay_between(a)), 5e-7);  // a few roundings of 6e-8 where exp is near 1
  EXPECT_GT(error(masked_after_exp(a)), 5e-6);
}

TEST(CausalConv, IsTheLibrarysPaddedConvolution) {
  const auto x = normal({2, 9, 6}, "x", torch::kDouble), w = normal({6, 1, 4}, "w", torch::kDouble),
             b = normal({6}, "b", torch::kDouble);
  const auto theirs = [](const auto& in) {
    return torch::conv1d(in[0].transpose(1, 2), in[1], in[2], /*stride=*/1, /*padding=*/3,
                         /*dilation=*/1, /*groups=*/6)
        .narrow(2, 0, in[0].size(1))
        .transpose(1, 2);
  };
  const auto ours = [](const auto& in) { return causal_conv(in[0], in[1], in[2]); };
  EXPECT_LT(
      worst_error(value_and_gradients(ours, {x, w, b}), value_and_gradients(theirs, {x, w, b})),
      1e-14);
  // Fewer tokens than taps.
  const auto shorter = x.narrow(1, 0, 2);
  EXPECT_LT(worst_error(value_and_gradients(ours, {shorter, w, b}),
                        value_and_gradients(theirs, {shorter, w, b})),
            1e-14);
  // What came before is part of the text.
  const auto tail = causal_conv(x.narrow(1, 5, 4), w, b, x.narrow(1, 2, 3));
  EXPECT_LT(worst_error({tail}, {causal_conv(x, w, b).narrow(1, 5, 4)}), 1e-14);
}

}  // namespace
}  // namespace normbench::ops
