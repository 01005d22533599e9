// y = factor * x^exponent, by least squares, with the standard errors that follow from the spread
// around the fit; and the points that a scaling law is fitted to.
#pragma once

#include <vector>

#include "suite/judge/statistics.h"

namespace normbench {

struct PowerLaw {
  double factor = 0, exponent = 0;
  double log_factor_error = 0, exponent_error = 0;  // standard errors of ln factor and exponent
  int n = 0;                                        // points

  /// estimate +- t_{1-alpha/2, n-2} * standard error; open for n = 2. That of the factor is taken
  /// in logs.
  Interval exponent_interval(double alpha) const;
  Interval factor_interval(double alpha) const;
};

/// Least squares of ln y on ln x: every point counts by its relative error. Needs 2 different x;
/// all x and y above 0.
PowerLaw fit_in_logs(const std::vector<double>& x, const std::vector<double>& y);

/// Least squares of y itself (Gauss and Newton, from the fit in logs), standard errors by the delta
/// method: what a general curve fitter does with this formula. Large y weigh most.
PowerLaw fit_values(const std::vector<double>& x, const std::vector<double>& y);

/// Share of the spread of ln y that the law explains: 1 - sum (ln y - ln law)^2 / sum (ln y - m)^2,
/// m = mean of ln y. Not all y may be equal.
double r_squared_in_logs(const PowerLaw& law, const std::vector<double>& x,
                         const std::vector<double>& y);

/// A run's end: what it cost, what it reached.
struct ScalingPoint {
  double compute = 0;  // FLOP, 6 N D with N = parameters without the input embedding
  double loss = 0;     // nats per token
  double tokens = 0;
  double parameters = 0;  // all of them
};

/// Hoffmann et al. 2022, arXiv 2203.15556, approach 1, on final losses: `bins` bins of equal width
/// in ln compute; of each the point with the least loss, where no point with less compute is
/// better. By rising compute.
std::vector<ScalingPoint> frontier(std::vector<ScalingPoint> points, int bins = 1500);

}  // namespace normbench
