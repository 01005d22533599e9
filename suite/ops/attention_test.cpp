// Truth: explicit softmax in double.
#include "suite/ops/attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/ops/op_testing.h"
#include "suite/ops/reference.h"

namespace normbench::ops {
namespace {

using namespace testing;

const Operator kAttention = [](const auto& in) {
  return causal_attention(in[0], in[1], in[2], 0.7);
};

std::vector<torch::Tensor> inputs(int64_t kv_heads, torch::ScalarType type = torch::kFloat) {
  return {normal({2, 33, 4, 8}, "q", type), normal({2, 33, kv_heads, 8}, "k", type),
          normal({2, 33, kv_heads, 8}, "v", type)};
}

TEST(Attention, TheLibrarysKernelAgreesWithExplicitSoftmaxInDouble) {
  // Scores near 8 * 0.7 carry 8 roundings of 6e-8; the library's exp is good to 1e-6.
  for (const int64_t kv_heads : {4, 2, 1})
    EXPECT_LT(kernel_error(kAttention, inputs(kv_heads)), 1e-5) << kv_heads;
}

TEST(Attention, NoTokenSeesItsFuture) {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    auto in = inputs(2, type);
    const auto before = kAttention(in);
    for (size_t i = 1; i < 3; ++i)
      in[i] = torch::cat({in[i].narrow(1, 0, 20), in[i].narrow(1, 20, 13) + 3}, 1);
    const auto after = kAttention(in);
    EXPECT_TRUE(torch::equal(before.narrow(1, 0, 20), after.narrow(1, 0, 20)));
    EXPECT_GT((before - after).narrow(1, 20, 13).abs().min().item<double>(),
              0);  // the comparison can say no
  }
}

TEST(Attention, ANarrowHeadOfKeysServesItsGroupOfQueries) {
  const auto in = inputs(2, torch::kDouble);
  const auto y = kAttention(in);
  for (int64_t head = 0; head < 4; ++head) {
    const auto one = kAttention(
        {in[0].narrow(2, head, 1), in[1].narrow(2, head / 2, 1), in[2].narrow(2, head / 2, 1)});
    EXPECT_LT(relative_error(y.narrow(2, head, 1), one), 1e-14) << head;
    const int64_t wrong = 1 - head / 2;
    const auto other = kAttention(
        {in[0].narrow(2, head, 1), in[1].narrow(2, wrong, 1), in[2].narrow(2, wrong, 1)});
    EXPECT_GT(relative_error(y.narrow(2, head, 1), other), 0.1) << head;
  }
}

TEST(Attention, GradientsAreTheCentralDifferences) {
  const std::vector<torch::Tensor> in = {normal({1, 3, 2, 4}, "q", torch::kDouble),
                                         normal({1, 3, 1, 4}, "k", torch::kDouble),
                                         normal({1, 3, 1, 4}, "v", torch::kDouble)};
  EXPECT_LT(central_difference_error(kAttention, in), 1e-8);  // own error, op_testing.h, x 10
}

TEST(Attention, OutputIsContiguousAndStridedHeadsAreRead) {
  EXPECT_TRUE(kAttention(inputs(4)).is_contiguous());
  EXPECT_LT(stride_error(kAttention, inputs(4)), 1e-5);
  EXPECT_EQ(kAttention({torch::empty({0, 5, 4, 8}), torch::empty({0, 5, 2, 8}),
                        torch::empty({0, 5, 2, 8})})
                .size(2),
            4);
}

}  // namespace
}  // namespace normbench::ops
