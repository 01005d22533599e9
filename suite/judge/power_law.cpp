#include "suite/judge/power_law.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "suite/base/errors.h"

namespace normbench {
namespace {

std::vector<double> logs(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double v : values) {
    NORMBENCH_CHECK(v > 0, "a power law through " + std::to_string(v));
    all.push_back(std::log(v));
  }
  return all;
}

// y = exp(a + b u) with u = ln x - center; s2 = variance around the fit, cov = s2 * inverse of the
// normal matrix [[m00, m01], [m01, m11]].
PowerLaw law(double a, double b, double center, double s2, double m00, double m01, double m11,
             size_t n) {
  const double det = m00 * m11 - m01 * m01;
  const double var_a = s2 * m11 / det, var_b = s2 * m00 / det, cov = -s2 * m01 / det;
  return {.factor = std::exp(a - b * center),
          .exponent = b,
          .log_factor_error =
              std::sqrt(std::max(0.0, var_a - 2 * center * cov + center * center * var_b)),
          .exponent_error = std::sqrt(std::max(0.0, var_b)),
          .n = static_cast<int>(n)};
}

Interval around(double estimate, double error, int n, double alpha) {
  if (n < 3) return {};
  const double half = t_quantile(1 - alpha / 2, n - 2) * error;
  return {estimate - half, estimate + half};
}

}  // namespace

Interval PowerLaw::exponent_interval(double alpha) const {
  return around(exponent, exponent_error, n, alpha);
}

Interval PowerLaw::factor_interval(double alpha) const {
  const Interval in_logs = around(std::log(factor), log_factor_error, n, alpha);
  return {std::exp(in_logs.low), std::exp(in_logs.high)};
}

PowerLaw fit_in_logs(const std::vector<double>& x, const std::vector<double>& y) {
  NORMBENCH_CHECK(x.size() == y.size() && x.size() >= 2, std::to_string(x.size()) + " points");
  const auto lx = logs(x), ly = logs(y);
  const double center = mean(lx), a = mean(ly);
  double sxx = 0, sxy = 0, rest = 0;
  for (size_t i = 0; i < lx.size(); ++i) {
    sxx += (lx[i] - center) * (lx[i] - center);
    sxy += (lx[i] - center) * (ly[i] - a);
  }
  NORMBENCH_CHECK(sxx > 0, "all x are equal");
  const double b = sxy / sxx;
  for (size_t i = 0; i < lx.size(); ++i) rest += std::pow(ly[i] - a - b * (lx[i] - center), 2);
  const double n = static_cast<double>(x.size());
  return law(a, b, center, n > 2 ? rest / (n - 2) : 0, n, 0, sxx, x.size());
}

PowerLaw fit_values(const std::vector<double>& x, const std::vector<double>& y) {
  const PowerLaw start = fit_in_logs(x, y);
  const auto lx = logs(x);
  const double center = mean(lx), scale = mean(y);
  double a = std::log(start.factor) + start.exponent * center - std::log(scale), b = start.exponent;
  const auto rest = [&](double a_, double b_) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += std::pow(y[i] / scale - std::exp(a_ + b_ * (lx[i] - center)), 2);
    return sum;
  };
  double m00 = 0, m01 = 0, m11 = 0;
  for (int step = 0; step < 200; ++step) {
    double g0 = 0, g1 = 0;
    m00 = m01 = m11 = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double u = lx[i] - center, f = std::exp(a + b * u), r = y[i] / scale - f;
      m00 += f * f, m01 += f * f * u, m11 += f * f * u * u;
      g0 += f * r, g1 += f * u * r;
    }
    const double det = m00 * m11 - m01 * m01;
    const double da = (m11 * g0 - m01 * g1) / det, db = (m00 * g1 - m01 * g0) / det;
    double share = 1;  // a step that does not improve is halved
    while (share > 1e-10 && rest(a + share * da, b + share * db) > rest(a, b)) share /= 2;
    a += share * da, b += share * db;
    if (std::abs(da) + std::abs(db) < 1e-13) break;
  }
  const double n = static_cast<double>(x.size());
  return law(a + std::log(scale), b, center, n > 2 ? rest(a, b) / (n - 2) : 0, m00, m01, m11,
             x.size());
}

double r_squared_in_logs(const PowerLaw& law, const std::vector<double>& x,
                         const std::vector<double>& y) {
  const auto lx = logs(x), ly = logs(y);
  const double center = mean(ly);
  double rest = 0, all = 0;
  for (size_t i = 0; i < lx.size(); ++i) {
    rest += std::pow(ly[i] - std::log(law.factor) - law.exponent * lx[i], 2);
    all += std::pow(ly[i] - center, 2);
  }
  NORMBENCH_CHECK(all > 0, "all y are equal");
  return 1 - rest / all;
}

std::vector<ScalingPoint> frontier(std::vector<ScalingPoint> points, int bins) {
  if (points.empty()) return points;
  std::sort(points.begin(), points.end(), [](const ScalingPoint& a, const ScalingPoint& b) {
    return a.compute != b.compute ? a.compute < b.compute : a.loss < b.loss;
  });
  const double from = std::log(points.front().compute),
               width = (std::log(points.back().compute) - from) / bins;
  std::map<int, ScalingPoint> best;  // [bin]
  for (const auto& point : points) {
    const int bin =
        width > 0 ? std::min(bins - 1, static_cast<int>((std::log(point.compute) - from) / width))
                  : 0;
    const auto [there, is_new] = best.emplace(bin, point);
    if (!is_new && point.loss < there->second.loss) there->second = point;
  }
  std::vector<ScalingPoint> kept;
  for (const auto& [bin, point] : best)
    if (kept.empty() || point.loss < kept.back().loss) kept.push_back(point);
  return kept;
}

}  // namespace normbench
