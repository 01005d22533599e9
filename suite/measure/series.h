// What is said about a measured series y(x).
#pragma once

#include <algorithm>
#include <cmath>
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

/// (max y - min y) / max y of positive numbers: 0 when y does not depend on x.
inline double relative_change(const std::vector<double>& y) {
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  return (*high - *low) / *high;
}

}  // namespace normbench
