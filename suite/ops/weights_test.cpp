// fill_normal_ and constrain_. Golden values of the constraints: golden_test.cpp.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/base/random.h"
#include "suite/ops/fused.h"
#include "suite/ops/initialize.h"
#include "suite/ops/op_testing.h"
#include "suite/ops/parameter_group.h"

namespace normbench::ops {
namespace {

using namespace testing;

torch::Tensor constrained(const torch::Tensor& w, RowConstraint constraint, int64_t axis,
                          bool on = true) {
  set_fused(on);
  auto copy = w.clone();
  constrain_({"w", copy, false, constraint, axis});
  set_fused(true);
  return copy;
}

// Norms from 0 to about 3, row 2 and column 3 all zeros.
torch::Tensor weight() {
  auto w = normal({40, 50}, "w") * torch::linspace(0.01, 0.4, 40).unsqueeze(1);
  w[2].zero_();
  w.select(1, 3).zero_();
  return w;
}

TEST(Constrain, TheKernelAgreesWithTheReference) {
  for (const int64_t axis : {0, 1}) {
    for (const auto constraint : {RowConstraint::kUnit, RowConstraint::kBound}) {
      const auto w = weight();
      EXPECT_LT(
          relative_error(constrained(w, constraint, axis), constrained(w, constraint, axis, false)),
          4 * 6e-8);
      EXPECT_TRUE(torch::equal(constrained(w, RowConstraint::kNone, axis), w));
    }
  }
}

TEST(Constrain, UnitMeansOneOrZero) {
  for (const int64_t axis : {0, 1}) {
    const auto norms = constrained(weight(), RowConstraint::kUnit, axis).norm(2, axis);
    const int64_t zero = axis == 1 ? 2 : 3;
    for (int64_t i = 0; i < norms.size(0); ++i)
      EXPECT_NEAR(norms[i].item<float>(), i == zero ? 0 : 1, 50 * 6e-8) << i;
  }
}

TEST(Constrain, BoundLeavesShortRowsAloneToTheLastBit) {
  for (const int64_t axis : {0, 1}) {
    for (const bool on : {true, false}) {
      const auto w = weight(), norms = w.norm(2, axis),
                 after = constrained(w, RowConstraint::kBound, axis, on);
      int64_t cut = 0;
      for (int64_t i = 0; i < norms.size(0); ++i) {
        const auto row = after.select(1 - axis, i), old = w.select(1 - axis, i);
        if (norms[i].item<float>() <= 1) {
          EXPECT_TRUE(torch::equal(row, old)) << i;
        } else {
          ++cut;
          EXPECT_NEAR(row.norm().item<float>(), 1, 50 * 6e-8) << i;
        }
      }
      EXPECT_GT(cut, 0);
      EXPECT_LT(cut, norms.size(0));
    }
  }
}

TEST(Constrain, OtherShapesAreRefused) {
  auto vector = torch::ones({4});
  EXPECT_THROW(constrain_({"v", vector, false, RowConstraint::kUnit, 1}), c10::Error);
}

TEST(FillNormal, NumbersBelongToSeedAndName) {
  auto a = torch::empty({7, 5}), b = torch::empty({7, 5}, torch::kDouble);
  fill_normal_(a, 0.5, 3, "embed.weight");
  fill_normal_(b, 0.5, 3, "embed.weight");
  EXPECT_TRUE(torch::equal(a, b.to(torch::kFloat)));
  EXPECT_EQ(b[1][2].item<double>(), 0.5 * RandomStream(3, "embed.weight").normal(7));
  auto c = torch::empty({7, 5});
  fill_normal_(c, 0.5, 4, "embed.weight");
  EXPECT_FALSE(torch::equal(a, c));
  fill_normal_(c, 0.5, 3, "head.weight");
  EXPECT_FALSE(torch::equal(a, c));
}

}  // namespace
}  // namespace normbench::ops
