#include "suite/judge/loss_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "suite/judge/paper_estimator.h"

namespace normbench {
namespace {

const LossCurve kLadder{{1e6, 2e6, 4e6}, {3.5, 3.3, 3.0}};

TEST(LossCurve, BetweenRungsIsLinearInLogTokens) {
  const auto needed = tokens_needed(kLadder, 3.4);
  EXPECT_EQ(needed.bound, Bound::kValue);
  EXPECT_NEAR(needed.tokens, 1e6 * std::sqrt(2.0), 1e-3);  // halfway in loss = halfway in ln tokens
}

TEST(LossCurve, OnARungIsThatRung) {
  EXPECT_NEAR(tokens_needed(kLadder, 3.5).tokens, 1e6, 1e-3);
  EXPECT_NEAR(tokens_needed(kLadder, 3.3).tokens, 2e6, 1e-3);
  EXPECT_NEAR(tokens_needed(kLadder, 3.0).tokens, 4e6, 1e-3);
  EXPECT_EQ(tokens_needed(kLadder, 3.0).bound, Bound::kValue);
}

TEST(LossCurve, OutsideTheLadderIsABoundAndNeverAnExtrapolation) {
  const auto below = tokens_needed(kLadder, 2.9);
  EXPECT_EQ(below.bound, Bound::kAtLeast);
  EXPECT_EQ(below.tokens, 4e6);
  const auto above = tokens_needed(kLadder, 3.6);
  EXPECT_EQ(above.bound, Bound::kAtMost);
  EXPECT_EQ(above.tokens, 1e6);
  EXPECT_EQ(tokens_needed(kLadder, std::numeric_limits<double>::infinity()).bound, Bound::kAtMost);
}

TEST(LossCurve, BeyondAPooledEndTheBoundIsTheRungThatHoldsForAll) {
  // 3.06 at 4 M and 3.08 at 8 M are pooled to 3.07. A loss of 3.065 lies above the run of 4 M.
  const LossCurve end = never_rising({{1e6, 2e6, 4e6, 8e6}, {3.5, 3.27, 3.06, 3.08}});
  const auto below = tokens_needed(end, 3.065);
  EXPECT_EQ(below.bound, Bound::kAtLeast);
  EXPECT_EQ(below.tokens, 4e6);
  const LossCurve start = never_rising({{1e6, 2e6, 4e6}, {3.50, 3.52, 3.2}});
  const auto above = tokens_needed(start, 3.515);
  EXPECT_EQ(above.bound, Bound::kAtMost);
  EXPECT_EQ(above.tokens, 2e6);
}

TEST(LossCurve, AFlatPartIsReadInItsGeometricMiddle) {
  EXPECT_NEAR(tokens_needed({{1e6, 2e6, 8e6, 9e6}, {3.5, 3.3, 3.3, 3.0}}, 3.3).tokens, 4e6, 1e-3);
}

TEST(LossCurve, ARisingLadderIsPooledAndSaidToBe) {
  bool pooled = false;
  const auto curve = never_rising({{1, 2, 3, 4}, {3.5, 3.2, 3.3, 3.0}}, &pooled);
  EXPECT_TRUE(pooled);
  EXPECT_NEAR(curve.loss[1], 3.25, 1e-12);
  EXPECT_NEAR(curve.loss[2], 3.25, 1e-12);
  never_rising(kLadder, &pooled);
  EXPECT_FALSE(pooled);
  EXPECT_THROW(tokens_needed({{1, 2}, {3.0, 3.1}}, 3.05),
               std::exception);  // the caller forgot to pool
}

// Truth: the losses are 690 (ratio tokens)^-.42 with ratio 1.4, so that every budget must give 1.4.
// Log-linear chords between rungs that are a factor 2 apart lie above the convex curve and
// overstate, here by 2.6 % (linear ones in tokens by 8.8 %).
TEST(LossCurve, FindsTheRatioOfTwoPowerLaws) {
  LossCurve reference;
  for (const double tokens : {1e6, 2e6, 4e6, 8e6}) {
    reference.tokens.push_back(tokens);
    reference.loss.push_back(1.7 + 690 * std::pow(tokens, -.42));
  }
  for (const double tokens : {1e6, 2e6, 4e6}) {
    const auto needed = tokens_needed(reference, 1.7 + 690 * std::pow(1.4 * tokens, -.42));
    EXPECT_EQ(needed.bound, Bound::kValue);
    EXPECT_NEAR(needed.tokens / tokens, 1.4, .04);
    EXPECT_NEAR(
        tokens_needed_smoothly(reference, 1.7 + 690 * std::pow(1.4 * tokens, -.42)).tokens / tokens,
        1.4, .006);
  }
}

TEST(LossCurve, LinearChordsInTokensOverstateMoreThanOnesInTheirLog) {
  const LossCurve rungs{{1e6, 2e6}, {690 * std::pow(1e6, -.42), 690 * std::pow(2e6, -.42)}};
  double in_logs = 1, linear = 1;
  for (double tokens = 1.01e6; tokens < 2e6; tokens += 1e4) {
    const double loss = 690 * std::pow(tokens, -.42);
    in_logs = std::max(in_logs, tokens_needed(rungs, loss).tokens / tokens);
    linear = std::max(linear, paper_speed_up(rungs, tokens, loss)->ratio);
  }
  EXPECT_NEAR(in_logs, chord_excess(2), 1e-4);
  EXPECT_NEAR(in_logs, 1.026, .0005);  // docs/method.md says both
  EXPECT_NEAR(linear, 1.088, .0005);
}

// A cubic must be met exactly by the not-a-knot spline through any of its points, a parabola by
// three.
TEST(PaperEstimator, SmoothInterpolationIsExactOnPolynomials) {
  const auto cubic = [](double x) { return 2 - x + .5 * x * x - .1 * x * x * x; };
  const std::vector<double> x = {1, 2, 4, 5, 7};
  std::vector<double> y;
  for (const double v : x) y.push_back(cubic(v));
  for (const double at : {1.0, 1.3, 3.0, 4.7, 6.9, 7.0})
    EXPECT_NEAR(interpolate_smoothly(x, y, at), cubic(at), 1e-11);
  EXPECT_NEAR(interpolate_smoothly({1, 2, 4}, {1, 4, 16}, 3), 9, 1e-12);
}

TEST(PaperEstimator, EndsWhereTheReferenceEnds) {
  EXPECT_FALSE(paper_speed_up(kLadder, 4e6, 2.99).has_value());
  EXPECT_TRUE(paper_speed_up(kLadder, 1e6, 3.7)->extrapolated);
  EXPECT_NEAR(paper_speed_up(kLadder, 1e6, 3.4)->ratio, 1.5,
              1e-12);  // linear in tokens, not in their log
}

TEST(LossCurve, AChordOverstatesMoreTheWiderItIs) {
  // Truth: the widest distance found by trying a million places.
  for (const double step : {2.0, 3.0, 4.0}) {
    double worst = 1;
    const double low = std::pow(step, -.42);
    for (int i = 1; i < 1000000; ++i) {
      const double u = std::log(step) * i / 1e6, loss = std::exp(-.42 * u);
      worst = std::max(worst, std::exp(std::log(step) * (1 - loss) / (1 - low) - u));
    }
    EXPECT_NEAR(chord_excess(step), worst, 1e-9) << step;
  }
  EXPECT_NEAR(chord_excess(2), 1.0255, 5e-5);
  EXPECT_NEAR(chord_excess(4), 1.1056, 5e-5);
}

}  // namespace
}  // namespace normbench
