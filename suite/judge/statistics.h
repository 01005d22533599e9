// The few formulas that every verdict and every gate rests on. Pure functions of numbers; quantiles
// from Boost.Math.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace normbench {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

double mean(std::span<const double> x);
/// sqrt(sum (x - mean)^2 / (n - 1)). Needs n >= 2.
double sample_sd(std::span<const double> x);

/// The p-quantile of Student's t with `df` degrees of freedom.
double t_quantile(double p, double df);
/// P(|T| >= |t|).
double t_p_two_sided(double t, double df);

/// mean +- t_{1-alpha/2, n-1} s / sqrt(n). Needs n >= 2. For paired data, x holds the differences
/// (of log ratios, say).
Interval t_interval(std::span<const double> x, double alpha);
/// Two-sided p-value of "the mean of x is 0". Needs n >= 2. All x equal: 0 when they differ from 0,
/// else 1.
double t_test_p(std::span<const double> x);

/// t_{1-alpha/2, df} sqrt(1/fresh_n + 1/old_n): the mean of fresh_n values of the same population
/// lies within factor * s of the mean of old_n others with probability 1 - alpha, where s has df
/// degrees of freedom. (3 s would be wrong one time in four for one fresh value, two old ones and
/// their own s.)
double prediction_factor(int fresh_n, int old_n, int df, double alpha);
/// The alpha at which means that are `difference` apart would sit exactly on the edge.
double prediction_p(double difference, double s, int fresh_n, int old_n, int df);

/// Holm's step-down: rejected[i] says whether p[i] is rejected with family-wise error alpha.
/// `family` >= p.size() is the number of tests of the whole family: a check that sees only its own
/// p-values is then as strict as, or stricter than, Holm over all of them.
std::vector<bool> holm(const std::vector<double>& p, double alpha, size_t family);
/// Holm-adjusted p-values; the family is p itself.
std::vector<double> holm_adjusted(const std::vector<double>& p);

/// Power of the two-sided one-sample t-test at `alpha` with n values of standard deviation s and
/// true mean `effect` (non-central t).
double t_test_power(double effect, double s, int n, double alpha);
/// The smallest true mean that the test finds with probability `power`. Infinite for n < 2.
double minimum_detectable_effect(double s, int n, double alpha, double power = 0.8);
/// The smallest n with that power; `most + 1` when even `most` are too few.
int pairs_needed(double effect, double s, double alpha, double power = 0.8, int most = 1000);

}  // namespace normbench
