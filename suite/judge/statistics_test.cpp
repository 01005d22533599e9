#include "suite/judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace normbench {
namespace {

// Truth: "Student" (1908), The probable error of a mean, Biometrika 6: extra hours of sleep of ten
// patients under two drugs, paired. t = 4.0621 on 9 degrees of freedom, p = .002833, 95 % interval
// .7001 .. 2.4599 (the example of R's t.test).
const std::vector<double> kSleep = {1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};

TEST(Statistics, PairedTTestOfStudentsSleepData) {
  EXPECT_NEAR(mean(kSleep), 1.58, 1e-12);
  EXPECT_NEAR(t_test_p(kSleep), .002833, 5e-7);  // half of the last printed digit
  const Interval interval = t_interval(kSleep, .05);
  EXPECT_NEAR(interval.low, .7001142, 5e-7);
  EXPECT_NEAR(interval.high, 2.4598858, 5e-7);
}

TEST(Statistics, AnEffectOfNothingIsNotSignificant) {
  EXPECT_GT(t_test_p(std::vector<double>{-1.0, 1.1, -0.9, 0.8}), .5);
  EXPECT_EQ(t_test_p(std::vector<double>{0.0, 0.0}), 1);
}

// Truth: NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
TEST(Statistics, QuantilesOfStudentsT) {
  EXPECT_NEAR(t_quantile(.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(t_quantile(.975, 9), 2.262, 5e-4);
  EXPECT_NEAR(t_quantile(.995, 4), 4.604, 5e-4);
  EXPECT_NEAR(t_quantile(.95, 10), 1.812, 5e-4);
}

// Truth: t_{.995, n-1} sqrt(1 + 1/n) with t from the same
// table: 63.657, 9.925, 4.604, 3.250, 2.861.
TEST(Statistics, PredictionFactorIsFarFromThreeForFewRuns) {
  EXPECT_NEAR(prediction_factor(1, 2, 1, .01), 63.657 * std::sqrt(1.5), 1e-3);
  EXPECT_NEAR(prediction_factor(1, 3, 2, .01), 9.925 * std::sqrt(4.0 / 3), 1e-3);
  EXPECT_NEAR(prediction_factor(1, 5, 4, .01), 4.604 * std::sqrt(1.2), 1e-3);
  EXPECT_NEAR(prediction_factor(1, 10, 9, .01), 3.250 * std::sqrt(1.1), 1e-3);
  EXPECT_NEAR(prediction_factor(1, 20, 19, .01), 2.861 * std::sqrt(1.05), 1e-3);
}

TEST(Statistics, PredictionPValueIsTheInverseOfTheFactor) {
  const double factor = prediction_factor(1, 5, 4, .02);
  EXPECT_NEAR(prediction_p(factor * .1, .1, 1, 5, 4), .02,
              1e-9);  // double rounding through two inverses
  EXPECT_EQ(prediction_p(.1, 0.0, 1, 5, 4), 0);
  EXPECT_EQ(prediction_p(0, 0.0, 1, 5, 4), 1);
}

// Truth: the worked example of Holm's procedure: p = .01 .04 .03 .005 at .05 rejects the fourth and
// the first only.
TEST(Statistics, HolmStopsAtTheFirstThatIsNotRejected) {
  EXPECT_EQ(holm({.01, .04, .03, .005}, .05, 4), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(holm({.01, .04, .03, .005}, .05, 400), (std::vector<bool>{false, false, false, false}));
  const auto adjusted = holm_adjusted({.01, .04, .03, .005});
  EXPECT_NEAR(adjusted[0], .03, 1e-12);
  EXPECT_NEAR(adjusted[1], .06, 1e-12);
  EXPECT_NEAR(adjusted[2], .06, 1e-12);
  EXPECT_NEAR(adjusted[3], .02, 1e-12);
}

// Truth: sample sizes of the paired t-test for Cohen's d = .2, .5, .8 at 80 % power, two-sided 5 %:
// 199, 34, 15 (G*Power 3, Faul et al. 2007, and R's power.t.test(type = "paired"):
// 198.15, 33.37, 14.30).
TEST(Statistics, PairsNeededForCohensEffects) {
  EXPECT_EQ(pairs_needed(.2, 1, .05), 199);
  EXPECT_EQ(pairs_needed(.5, 1, .05), 34);
  EXPECT_EQ(pairs_needed(-.8, 1, .05), 15);
  EXPECT_EQ(pairs_needed(.001, 1, .05), 1001);  // more than asked for
}

TEST(Statistics, MinimumDetectableEffectIsTheInverseOfThePower) {
  const double effect = minimum_detectable_effect(.03, 5, .05);
  EXPECT_NEAR(t_test_power(effect, .03, 5, .05), .8,
              1e-9);  // bisection to the last bit; Boost's cdf is good to 1e-12
  EXPECT_NEAR(minimum_detectable_effect(1, 34, .05), .5, .006);  // 33.37 pairs give .5 exactly
  EXPECT_TRUE(std::isinf(minimum_detectable_effect(1, 1, .05)));
}

// The interval must be wrong as often as it says: 95 % of intervals of 5 normal values hold the
// true mean.
TEST(Statistics, CoverageOfTheInterval) {
  uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (static_cast<double>(state >> 11) + .5) / 9007199254740992.0;
  };
  int held = 0;
  const int trials = 20000;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> x(5);
    for (auto& v : x)
      v = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    const Interval interval = t_interval(x, .05);
    held += interval.low < 0 && interval.high > 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / trials, .95,
              .006);  // 4 sd of a share of .95 in 20000 trials
}

}  // namespace
}  // namespace normbench
