// What is asked of a measured number, and said about a measured series y(x).
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "suite/base/errors.h"

namespace normbench {

/// Slope of the least-squares line of ln y on ln x. Throws UserError without two different x.
inline double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = std::log(x[i]) - mean_x;
    xx += dx * dx;
    xy += dx * (std::log(y[i]) - mean_y);
  }
  if (!(xx > 0))
    throw UserError({.what = "a slope needs two different points",
                     .where = "the grid of a measurement",
                     .expected = "at least two different sizes or scales"});
  return xy / xx;
}

/// Options within their limits can still lead beyond what a double holds. Throws UserError there.
inline void require_finite(const std::string& what, double number) {
  if (!std::isfinite(number))
    throw UserError({.what = "the measurement gave a number that is not finite",
                     .where = what,
                     .found = std::to_string(number),
                     .todo = "an option of it is too large or too small to compute with"});
}

/// A statement about all x needs more than one. Throws UserError on a grid whose numbers are equal.
inline void require_two_different(const std::string& option, const std::vector<double>& x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (x.empty() || *low == *high)
    throw UserError({.what = "one point shows no change",
                     .where = option,
                     .expected = "at least two different numbers"});
}

/// (max y - min y) / max y of positive numbers: 0 when y does not depend on x.
inline double relative_change(const std::vector<double>& y) {
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  return (*high - *low) / *high;
}

}  // namespace normbench
