// Power laws: the fits against data whose law is known.
#include "suite/judge/power_law.h"

#include <gtest/gtest.h>

#include <cmath>

namespace normbench {
namespace {

TEST(PowerLaw, BothFitsFindAnExactLaw) {
  std::vector<double> x, y;
  for (double v = 1; v < 1e20; v *= 17) x.push_back(v), y.push_back(28.4 * std::pow(v, -.053));
  for (const PowerLaw& law : {fit_in_logs(x, y), fit_values(x, y)}) {
    EXPECT_NEAR(law.factor, 28.4, 1e-10);
    EXPECT_NEAR(law.exponent, -.053, 1e-12);
    EXPECT_NEAR(law.exponent_interval(.05).high, -.053, 1e-12);
  }
}

TEST(PowerLaw, ErrorsAreThoseOfTheTextbook) {
  // ln y = ln x with residuals (+d, -2d, +d) at ln x = -1, 0, 1: slope 1, s^2 = 6 d^2 / 1, error of
  // the slope s / sqrt(2), of the constant s / sqrt(3) (Draper & Smith, Applied regression
  // analysis, 1.4).
  const double d = .01;
  const PowerLaw law = fit_in_logs({std::exp(-1), 1, std::exp(1)},
                                   {std::exp(-1 + d), std::exp(-2 * d), std::exp(1 + d)});
  EXPECT_NEAR(law.exponent, 1, 1e-14);
  EXPECT_NEAR(law.factor, 1, 1e-14);
  EXPECT_NEAR(law.exponent_error, d * std::sqrt(3), 1e-14);
  EXPECT_NEAR(law.log_factor_error, d * std::sqrt(2), 1e-14);
  // Squares 6 d^2 around the law, 2 + 6 d^2 around the mean.
  EXPECT_NEAR(r_squared_in_logs(law, {std::exp(-1), 1, std::exp(1)},
                                {std::exp(-1 + d), std::exp(-2 * d), std::exp(1 + d)}),
              1 / (1 + 3 * d * d), 1e-14);
  // t with 1 degree of freedom at .975 is 12.7062.
  EXPECT_NEAR(law.exponent_interval(.05).high - 1, 12.7062 * d * std::sqrt(3), 1e-5);
}

TEST(PowerLaw, ThatOfTheValuesMinimisesTheirSquares) {
  const std::vector<double> x = {1, 2, 4, 8, 16}, y = {1.1, 1.9, 4.3, 7.7, 16.4};
  const PowerLaw law = fit_values(x, y);
  const auto rest = [&](double factor, double exponent) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += std::pow(y[i] - factor * std::pow(x[i], exponent), 2);
    return sum;
  };
  for (const double df : {-1e-4, 0.0, 1e-4})
    for (const double de : {-1e-4, 0.0, 1e-4}) {
      if (df == 0 && de == 0) continue;
      EXPECT_GT(rest(law.factor + df, law.exponent + de), rest(law.factor, law.exponent));
    }
  EXPECT_GT(rest(fit_in_logs(x, y).factor, fit_in_logs(x, y).exponent),
            rest(law.factor, law.exponent));
}

TEST(PowerLaw, TheIntervalCoversTheTruthAsOftenAsItSays) {
  // 2000 laws with normal noise from sums of 12 uniforms of a linear congruential generator.
  uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> x, y;
    for (int i = 0; i < 8; ++i) {
      double noise = -6;
      for (int k = 0; k < 12; ++k) noise += uniform();
      x.push_back(std::pow(3.0, i));
      y.push_back(5 * std::pow(x.back(), -.1) * std::exp(.02 * noise));
    }
    const Interval interval = fit_values(x, y).exponent_interval(.05);
    covered += interval.low <= -.1 && interval.high >= -.1;
  }
  EXPECT_NEAR(covered / 2000.0, .95, .02);  // 4 standard errors of a share of .95 in 2000: .0195
}

TEST(Frontier, KeepsWhatNoCheaperRunBeats) {
  const auto kept = frontier({{1e18, 3.0, 1, 10},
                              {2e18, 2.9, 2, 10},
                              {4e18, 2.95, 4, 10},     // dearer and worse
                              {4.001e18, 2.8, 1, 40},  // in one bin with the last of 100
                              {8e18, 2.7, 2, 40}},
                             100);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[2].parameters, 40);
  EXPECT_EQ(frontier({}, 10).size(), 0u);
  EXPECT_EQ(frontier({{1e18, 3.0, 1, 10}, {1e18, 2.0, 1, 20}}).front().loss, 2.0);
}

}  // namespace
}  // namespace normbench
