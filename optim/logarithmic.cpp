#include "optim/logarithmic.h"

#include <cmath>

#include "optim/warmup.h"

namespace normbench {

namespace {

double log_span(double rho) { return std::log1p(1 / rho); }  // L

/// A - 1/2. Above rho = 100 the two terms of A cancel; there the series in x = 1 / rho of
/// 1 / ln(1 + x) - 1 / x - 1/2, whose first neglected term is 0.0113 x^6 < 2e-14.
double area_above_half(double rho) {
  if (rho < 100) return 1 / log_span(rho) - rho - 0.5;
  const double x = 1 / rho;
  return x * (-1.0 / 12 + x * (1.0 / 24 + x * (-19.0 / 720 + x * (3.0 / 160 - x * 863.0 / 60480))));
}

LogarithmicOptions read(int64_t steps, const JsonObject& object) {
  const auto o = read_options<LogarithmicOptions>(object);
  check_decay(steps, "final_fraction", o.final_fraction, object);
  if (!(o.rho > 0 && std::isfinite(o.rho)))
    object.fail("rho", "no curve has this rho", std::to_string(o.rho), "above 0");
  return o;
}

}  // namespace

double log_decay(double rho, double r) { return 1 - std::log1p(r / rho) / log_span(rho); }

double log_half_progress(double rho) {
  return 1 / (std::sqrt(1 + 1 / rho) + 1);  // rho (sqrt(1 + 1 / rho) - 1), without cancellation
}

double log_area(double rho) { return 0.5 + area_above_half(rho); }

double log_rho_of_area(double area) {
  if (!(area > 0.002 && area < 0.5))
    throw UserError({.what = "no rho gives this area",
                     .where = "area of the logarithmic decay",
                     .found = std::to_string(area),
                     .expected = "above 0.002 and below 0.5"});
  double low = -500, high = 40;  // ln rho: A is 0.002 at rho = e^-500 and 1/2 - 4e-19 at e^40
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (log_area(std::exp(middle)) < area ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

double log_square_area(double rho) {
  // 2 A^2 + rho (2 A - 1), the same without the difference of large terms.
  const double a = log_area(rho);
  return 2 * a * a + 2 * rho * area_above_half(rho);
}

double log_area_until(double rho, double r) {
  return r - ((rho + r) * std::log1p(r / rho) - r) / log_span(rho);
}

double log_decay_sum(double rho, int64_t count) {
  const auto n = static_cast<double>(count);
  return n - (std::lgamma(n * rho + n + 1) - std::lgamma(n * rho + 1) - n * std::log(n * rho)) /
                 log_span(rho);
}

Schedule make_logarithmic(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto o = read(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const double floor = o.final_fraction * peak_lr;
  return [=](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    const double r = static_cast<double>(t - warmup) / static_cast<double>(steps - warmup);
    return floor + (peak_lr - floor) * log_decay(o.rho, r);
  };
}

ScheduleShape logarithmic_shape(int64_t steps, const JsonObject& object) {
  const auto o = read(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  return {.warmup_share = static_cast<double>(warmup) / static_cast<double>(steps),
          .area = log_area(o.rho),
          .final_fraction = o.final_fraction};
}

}  // namespace normbench
