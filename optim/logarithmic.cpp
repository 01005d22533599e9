#include "optim/logarithmic.h"

#include <cmath>

#include "optim/warmup.h"

namespace normbench {

namespace {

double log_span(double rho) { return std::log1p(1 / rho); }  // L

/// T and S of (1) and (2), for 0 <= z <= 1/3: a term is at most 1/9 of the one before it.
struct AtanhSeries {
  double T = 0, S = 0;
  explicit AtanhSeries(double z) {
    double power = 1;  // z^2k
    for (int k = 0; power > 1e-17; ++k, power *= z * z) {
      T += power / (2 * k + 1);
      S += power / (2 * k + 3);
    }
  }
};

/// (1). Below rho = 1 the difference is no smaller than its terms.
double half_minus_area(double rho) {
  if (rho < 1) return 0.5 - (1 / log_span(rho) - rho);
  const double z = 1 / (2 * rho + 1);
  const AtanhSeries series(z);
  return z * series.S / (2 * series.T);
}

/// rho (y - ln(1 + y)) with y = r / rho, by (2) with rho y = r.
double scaled_log_remainder(double rho, double r) {
  const double y = r / rho;
  if (y > 1) return r - rho * std::log1p(y);
  const double z = y / (2 + y);
  return r * z * (1 - 2 * z / (2 + y) * AtanhSeries(z).S);
}

LogarithmicOptions read(int64_t steps, const JsonObject& object) {
  const auto o = read_options<LogarithmicOptions>(object);
  require_a_step(steps, object);
  return o;
}

}  // namespace

double log_decay(double rho, double r) { return 1 - std::log1p(r / rho) / log_span(rho); }

double log_half_progress(double rho) {
  return 1 / (std::sqrt(1 + 1 / rho) + 1);  // rho (sqrt(1 + 1 / rho) - 1), without cancellation
}

double log_area(double rho) {
  return rho < 1 ? 1 / log_span(rho) - rho : 0.5 - half_minus_area(rho);
}

double log_rho_of_area(double area) {
  double low = std::log(kLeastRho), high = std::log(kLargestRho);
  if (!(area > log_area(kLeastRho) && area < 0.5))
    throw UserError({.what = "no rho gives this area",
                     .where = "area of the logarithmic decay",
                     .found = Json(area).dump(),
                     .expected = "above " + Json(log_area(kLeastRho)).dump() + " and below 0.5"});
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (log_area(std::exp(middle)) < area ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

double log_square_area(double rho) {
  // 2 A^2 - 2 rho (1/2 - A), the same without the difference of large terms.
  const double a = log_area(rho);
  return 2 * a * a - 2 * rho * half_minus_area(rho);
}

double log_area_until(double rho, double r) {
  // By parts: r g(r) + the integral of x / (L (rho + x)) over [0, r], which are both above 0.
  return r * log_decay(rho, r) + scaled_log_remainder(rho, r) / log_span(rho);
}

double log_decay_sum(double rho, int64_t n) {
  long double sum = 0;
  for (int64_t j = 1; j <= n; ++j)
    sum += log_decay(rho, static_cast<double>(j) / static_cast<double>(n));
  return static_cast<double>(sum);
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
