// Logarithmic decay. "Training nGPT", arXiv 2608.01284; the paper gives the curve and no default
// for rho. Torch-free. r in (0, 1] is the progress after the warm-up, L = ln(1 + 1 / rho).
//   lr = floor + (peak - floor) g(r),  g(r) = 1 - ln(1 + r / rho) / L
// g falls from 1 to 0; its slope -1 / (L (rho + r)) is steep first. rho -> infinity is the linear
// decay, rho -> 0 falls at once. Written as they stand, the closed forms below lose as many digits
// at large rho as rho has; they are computed through
//   z(y) = y / (2 + y),  ln(1 + y) = 2 z T,  T = sum z^2k / (2k + 1),  S = sum z^2k / (2k + 3)
//   1/2 - A = z S / (2 T)                                          at y = 1 / rho             (1)
//   ln(1 + y) - y = -z (y - 2 z^2 S)                                                          (2)
// whose terms do not cancel: to 1e-14 of their value for rho >= 1e-100, 1e-13 below.
#pragma once

#include "optim/schedule.h"

namespace normbench {

/// Beyond these rho or 1 / rho leaves the range of doubles on the way. From 1e16 on g is linear to
/// the last bit.
constexpr double kLeastRho = 1e-300, kLargestRho = 1e100;

struct LogarithmicOptions {
  double warmup_fraction = 0;  // part of all steps, rounded to the nearest step
  int64_t warmup_steps = 0;    // the same as a count; give one of the two
  // Ours: half of the fall lies in the first 18 % of the decay. 0.01 to 1 is the range of interest.
  double rho = 0.05;          // between kLeastRho and 1e30, where g has long been linear
  double final_fraction = 0;  // rate of the last step as a part of the peak

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("warmup_fraction", warmup_fraction, share_below_one());
    v.number("warmup_steps", warmup_steps, at_least(0));
    v.number("rho", rho, between(kLeastRho, 1e30));
    v.number("final_fraction", final_fraction, between(0, 1));
  }
};

double log_decay(double rho, double r);
/// g^-1(1/2) = rho (sqrt(1 + 1 / rho) - 1).
double log_half_progress(double rho);
/// A = integral of g over [0, 1] = 1 / L - rho; rises with rho from 0 to 1/2.
double log_area(double rho);
/// The rho of an area between that of kLeastRho, 0.00145, and 1/2, by bisection. Throws UserError
/// on another area.
double log_rho_of_area(double area);
/// Integral of g^2 over [0, 1] = 2 / L^2 - 2 rho / L - rho.
double log_square_area(double rho);
/// Integral of g over [0, r] = r - ((rho + r) ln(1 + r / rho) - r) / L.
double log_area_until(double rho, double r);
/// Sum of g(j / n), j = 1..n, term by term. The closed form n - (ln Gamma(n rho + n + 1) - ln
/// Gamma(n rho + 1) - n ln(n rho)) / L takes the difference of numbers near n rho ln(n rho).
double log_decay_sum(double rho, int64_t n);

Schedule make_logarithmic(int64_t steps, double peak_lr, const JsonObject& options);
ScheduleShape logarithmic_shape(int64_t steps, const JsonObject& options);

}  // namespace normbench
