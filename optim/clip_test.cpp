#include "optim/clip.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

namespace normbench {
namespace {

std::vector<ParameterGroup> with_gradients(double a, double b) {
  std::vector<ParameterGroup> groups;
  for (const double value : {a, b}) {
    groups.push_back({.name = "w", .tensor = torch::zeros({2}, torch::kDouble).requires_grad_()});
    groups.back().tensor.mutable_grad() = torch::full({2}, value, torch::kDouble);
  }
  groups.push_back(
      {.name = "unused", .tensor = torch::zeros({2}).requires_grad_()});  // has no gradient
  return groups;
}

// sqrt(2 * 3^2 + 2 * 4^2) = 5 sqrt 2
TEST(ClipGradients, ScalesAllByOneFactorWhenTheNormIsTooLarge) {
  const auto groups = with_gradients(3, 4);
  const double norm = clip_gradients_(groups, 1.0);
  EXPECT_DOUBLE_EQ(norm, 5 * std::sqrt(2.0));
  const double factor = 1 / (norm + 1e-6);
  EXPECT_DOUBLE_EQ(groups[0].tensor.grad()[0].item<double>(), 3 * factor);
  EXPECT_DOUBLE_EQ(groups[1].tensor.grad()[1].item<double>(), 4 * factor);
}

TEST(ClipGradients, LeavesSmallGradientsBitIdentical) {
  const auto groups = with_gradients(0.3, 0.4);
  EXPECT_DOUBLE_EQ(clip_gradients_(groups, 1.0), 0.5 * std::sqrt(2.0));
  EXPECT_EQ(groups[0].tensor.grad()[0].item<double>(), 0.3);
}

TEST(ClipGradients, OnlyMeasuresWithoutALimitAndReportsWhatIsNotFinite) {
  const auto groups = with_gradients(3, 4);
  EXPECT_DOUBLE_EQ(clip_gradients_(groups, 0), 5 * std::sqrt(2.0));
  EXPECT_EQ(groups[0].tensor.grad()[0].item<double>(), 3);
  const auto infinite = with_gradients(3, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::isfinite(clip_gradients_(infinite, 1.0)));
  EXPECT_EQ(infinite[0].tensor.grad()[0].item<double>(), 3);
}

}  // namespace
}  // namespace normbench
