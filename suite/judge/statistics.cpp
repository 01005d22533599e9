#include "suite/judge/statistics.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "suite/base/errors.h"

namespace normbench {

double mean(std::span<const double> x) {
  NORMBENCH_CHECK(!x.empty(), "mean of nothing");
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double sample_sd(std::span<const double> x) {
  NORMBENCH_CHECK(x.size() >= 2, "n = " + std::to_string(x.size()));
  const double m = mean(x);
  double sum = 0;
  for (const double v : x) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(x.size() - 1));
}

double t_quantile(double p, double df) {
  return boost::math::quantile(boost::math::students_t(df), p);
}

double t_p_two_sided(double t, double df) {
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(df), std::abs(t)));
}

Interval t_interval(std::span<const double> x, double alpha) {
  const double n = static_cast<double>(x.size());
  const double half = t_quantile(1 - alpha / 2, n - 1) * sample_sd(x) / std::sqrt(n);
  return {mean(x) - half, mean(x) + half};
}

double t_test_p(std::span<const double> x) {
  const double n = static_cast<double>(x.size());
  const double standard_error = sample_sd(x) / std::sqrt(n);
  if (standard_error == 0) return mean(x) == 0 ? 1 : 0;
  return t_p_two_sided(mean(x) / standard_error, n - 1);
}

namespace {

double error_of_difference(int fresh_n, int old_n) {
  NORMBENCH_CHECK(fresh_n >= 1 && old_n >= 1,
                  std::to_string(fresh_n) + ", " + std::to_string(old_n));
  return std::sqrt(1.0 / fresh_n + 1.0 / old_n);
}

}  // namespace

double prediction_factor(int fresh_n, int old_n, int df, double alpha) {
  return t_quantile(1 - alpha / 2, df) * error_of_difference(fresh_n, old_n);
}

double prediction_p(double difference, double s, int fresh_n, int old_n, int df) {
  if (s == 0) return difference == 0 ? 1 : 0;
  return t_p_two_sided(difference / (s * error_of_difference(fresh_n, old_n)), df);
}

std::vector<bool> holm(const std::vector<double>& p, double alpha, size_t family) {
  NORMBENCH_CHECK(family >= p.size(), std::to_string(family) + " < " + std::to_string(p.size()));
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<bool> rejected(p.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    if (!(p[order[i]] <= alpha / static_cast<double>(family - i))) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

double t_test_power(double effect, double s, int n, double alpha) {
  if (n < 2) return 0;
  if (s == 0) return effect == 0 ? alpha : 1;
  const double df = n - 1;
  const double critical = t_quantile(1 - alpha / 2, df);
  const double delta = std::abs(effect) / s * std::sqrt(static_cast<double>(n));
  if (delta > 30)
    return 1;  // Boost's series needs ever more terms there; at least .98 at alpha .05
  const boost::math::non_central_t alternative(df, delta);
  return boost::math::cdf(boost::math::complement(alternative, critical)) +
         boost::math::cdf(alternative, -critical);
}

double minimum_detectable_effect(double s, int n, double alpha, double power) {
  if (n < 2) return std::numeric_limits<double>::infinity();
  if (s == 0) return 0;
  double low = 0, high = s;
  while (t_test_power(high, s, n, alpha) < power) {
    if (high > 1e6 * s) return std::numeric_limits<double>::infinity();
    high *= 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (t_test_power(middle, s, n, alpha) < power ? low : high) = middle;
  }
  return high;
}

int pairs_needed(double effect, double s, double alpha, double power, int most) {
  if (effect == 0 || !(t_test_power(effect, s, most, alpha) >= power)) return most + 1;
  int low = 1, high = most;  // power grows with n: low is too few, high is enough
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (t_test_power(effect, s, middle, alpha) >= power ? high : low) = middle;
  }
  return high;
}

}  // namespace normbench
