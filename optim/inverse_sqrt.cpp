#include "optim/inverse_sqrt.h"

#include <algorithm>
#include <cmath>

#include "optim/warmup.h"

namespace normbench {

double inverse_sqrt_area(double a, double w, double f) {
  if (f * f <= a) return 2 * std::sqrt(a) * (1 - std::sqrt(w)) / (1 - w);
  const double x = a / (f * f);
  return (2 * std::sqrt(a) * (std::sqrt(x) - std::sqrt(w)) + f * (1 - x)) / (1 - w);
}

Schedule make_inverse_sqrt(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto o = read_options<InverseSqrtOptions>(object);
  require_a_step(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const double floor = o.final_fraction * peak_lr;
  return [=](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    // No step has t = 0; without a warm-up, the area under the curve is asked for there.
    const auto first = std::max<int64_t>(warmup, 1);
    const auto x = static_cast<double>(first) / static_cast<double>(std::max(t, first));
    return std::max(floor, peak_lr * std::sqrt(x));
  };
}

ScheduleShape inverse_sqrt_shape(int64_t steps, const JsonObject& object) {
  const auto o = read_options<InverseSqrtOptions>(object);
  require_a_step(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const double all = static_cast<double>(steps), w = static_cast<double>(warmup) / all,
               a = static_cast<double>(std::max<int64_t>(warmup, 1)) / all;
  // The floor is inside the area: both are proportional to the peak.
  return {.warmup_share = w, .area = inverse_sqrt_area(a, w, o.final_fraction)};
}

}  // namespace normbench
