// Truth: the reference in double, central differences, and what a rotation keeps. Golden values:
// golden_test.cpp.
#include "suite/ops/rope.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/op_testing.h"

namespace normbench::ops {
namespace {

using namespace testing;

struct Variant {
  std::string name;
  RopePairs pairs;
  int64_t width;
};

std::vector<Variant> variants() {
  return {{"half", RopePairs::kHalf, 16},
          {"half, partial", RopePairs::kHalf, 10},
          {"interleaved", RopePairs::kInterleaved, 16},
          {"interleaved, partial", RopePairs::kInterleaved, 6},
          {"published", RopePairs::kPublished, 16}};
}

// The table in double is rounded to fp32 first, so that both sides turn by the same numbers.
RopeTable table_for(const Variant& v, torch::ScalarType type) {
  auto table = rope_table(40, v.width, 1e4, v.pairs, torch::kFloat);
  table.cos = table.cos.to(type);
  table.sin = table.sin.to(type);
  return table;
}

Operator turn(const Variant& v) {
  return [v](const auto& in) { return rope(in[0], table_for(v, in[0].scalar_type())); };
}

Operator turn_and_normalize(const Variant& v) {
  return [v](const auto& in) {
    const auto table = table_for(v, in[0].scalar_type());
    return in.size() > 1 ? rope_l2_norm(in[0], table, in[1]) : rope_l2_norm(in[0], table);
  };
}

torch::Tensor heads(torch::ScalarType type = torch::kFloat) {
  return normal({4, 40, 3, 16}, "x", type);
}
torch::Tensor gains(torch::ScalarType type = torch::kFloat) { return normal({48}, "gain", type); }

TEST(Rope, KernelsAgreeWithTheReferenceInDouble) {
  for (const auto& v : variants()) {
    EXPECT_TRUE(takes_kernel(turn(v), {heads()})) << v.name;
    EXPECT_LT(kernel_error(turn(v), {heads()}), 4 * 6e-8) << v.name;  // two products and a sum
    // Sums of 16 entries, gains of 160 rows: root 13 units of 6e-8, taken four times.
    EXPECT_LT(kernel_error(turn_and_normalize(v), {heads()}), 52 * 6e-8) << v.name;
    EXPECT_LT(kernel_error(turn_and_normalize(v), {heads(), gains()}), 52 * 6e-8) << v.name;
    EXPECT_TRUE(takes_kernel(turn_and_normalize(v), {heads(), gains()})) << v.name;
  }
}

TEST(Rope, GradientsAreTheCentralDifferences) {
  for (const auto& v : variants()) {
    const auto x = normal({1, 2, 2, 16}, "x", torch::kDouble),
               gain = normal({32}, "gain", torch::kDouble);
    EXPECT_LT(central_difference_error(turn(v), {x}), 1e-8)
        << v.name;  // own error, op_testing.h, x 10
    EXPECT_LT(central_difference_error(turn_and_normalize(v), {x, gain}), 1e-8) << v.name;
  }
}

TEST(Rope, StridesAndThreadsChangeNoBit) {
  for (const auto& v : variants()) {
    EXPECT_EQ(stride_error(turn_and_normalize(v), {heads(), gains()}), 0) << v.name;
    EXPECT_EQ(stride_error(turn(v), {heads()}), 0) << v.name;
    EXPECT_EQ(thread_error(turn_and_normalize(v), {heads(), gains()}), 0) << v.name;
  }
}

TEST(Rope, EmptyTensorsPass) {
  EXPECT_EQ(turn(variants()[0])({torch::empty({0, 40, 3, 16})}).numel(), 0);
  EXPECT_EQ(turn_and_normalize(variants()[0])({torch::empty({2, 0, 3, 16})}).numel(), 0);
}

TEST(Rope, ARotationKeepsLengthsAndThePublishedMapDoesNot) {
  const auto x = heads(), length = x.norm(2, -1);
  for (const auto& v : variants()) {
    const double error = relative_error(turn(v)({x}).norm(2, -1), length);
    if (v.pairs == RopePairs::kPublished) {
      EXPECT_GT(error, 0.1);
    } else {
      EXPECT_LT(error, 16 * 6e-8) << v.name;
    }
  }
}

TEST(Rope, ScoresDependOnTheDistanceOnly) {
  const auto q = normal({1, 1, 1, 16}, "q", torch::kDouble).expand({1, 40, 1, 16});
  const auto k = normal({1, 1, 1, 16}, "k", torch::kDouble).expand({1, 40, 1, 16});
  for (const auto& v : variants()) {
    const auto table = rope_table(40, v.width, 1e4, v.pairs, torch::kDouble);
    const auto scores = rope(q, table).view({40, 16}).mm(rope(k, table).view({40, 16}).t());
    const double spread = (scores.diagonal(3) - scores[0][3]).abs().max().item<double>();
    if (v.pairs == RopePairs::kPublished) {
      EXPECT_GT(spread, 0.1);
    } else {
      EXPECT_LT(spread, 16 * 16 * 2.2e-16) << v.name;  // 16 products of size up to 10 in double
    }
  }
}

TEST(Rope, HeadsOfZerosStayZero) {
  auto x = heads();
  x.select(2, 1).zero_();
  for (const auto& t : value_and_gradients(turn_and_normalize(variants()[0]), {x})) {
    EXPECT_TRUE(t.isfinite().all().item<bool>());
    EXPECT_EQ(t.select(2, 1).abs().max().item<float>(), 0);
  }
}

TEST(Rope, ShapesOutsideTheTableAreRefused) {
  const auto table = rope_table(40, 16, 1e4, RopePairs::kHalf, torch::kFloat);
  EXPECT_THROW(rope(torch::zeros({1, 41, 1, 16}), table), c10::Error);
  EXPECT_THROW(rope(torch::zeros({1, 4, 1, 8}), table), c10::Error);
  EXPECT_THROW(rope_l2_norm(heads(), table, torch::ones({47})), c10::Error);
  EXPECT_THROW(rope_table(4, 5, 1e4, RopePairs::kHalf, torch::kFloat), c10::Error);
}

TEST(Rope, AWrongPairingWouldBeSeen) {
  const Operator mixed = [](const auto& in) {
    return turn(variants()[in[0].scalar_type() == torch::kFloat ? 0 : 2])(in);
  };
  EXPECT_GT(kernel_error(mixed, {heads()}), 0.1);
}

}  // namespace
}  // namespace normbench::ops
