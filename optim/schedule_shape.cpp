#include "optim/schedule_shape.h"

#include "suite/base/errors.h"
#include "suite/base/json.h"

namespace normbench {

namespace {

/// Area, or sum, for every unit of the peak and of the floor.
struct Parts {
  double per_peak, per_floor;
};

Parts parts_of(const ScheduleShape& s) {
  const double w = s.warmup_share, a = s.area + s.final_fraction * (1 - s.area);
  return {w / 2 + (1 - w) * a, (1 - w) * (1 - s.area)};
}

/// Peak t / W summed over t = 1..W is peak (W + 1) / 2, and nothing without a warm-up.
Parts parts_of(int64_t steps, int64_t warmup, double decay_sum) {
  const double ramp = warmup > 0 ? static_cast<double>(warmup + 1) / 2 : 0;
  return {ramp + decay_sum, static_cast<double>(steps - warmup) - decay_sum};
}

double solve(const Parts& parts, double floor, double total) {
  const double peak = (total - parts.per_floor * floor) / parts.per_peak;
  if (!(peak >= floor))
    throw UserError({.what = "no peak rate gives this area: the floor alone exceeds it",
                     .where = "equal-area peak",
                     .found = "area " + Json(total).dump() + ", floor " + Json(floor).dump(),
                     .expected = "a floor below the mean rate"});
  return peak;
}

}  // namespace

double mean_rate(const ScheduleShape& shape, double peak) {
  const auto parts = parts_of(shape);
  return parts.per_peak * peak + parts.per_floor * shape.floor;
}

double peak_of_mean_rate(const ScheduleShape& shape, double mean) {
  return solve(parts_of(shape), shape.floor, mean);
}

double equal_area_peak(const ScheduleShape& shape, const ScheduleShape& reference,
                       double reference_peak) {
  return peak_of_mean_rate(shape, mean_rate(reference, reference_peak));
}

double summed_rate(int64_t steps, int64_t warmup, double decay_sum, double floor, double peak) {
  const auto parts = parts_of(steps, warmup, decay_sum);
  return parts.per_peak * peak + parts.per_floor * floor;
}

double peak_of_summed_rate(int64_t steps, int64_t warmup, double decay_sum, double floor,
                           double sum) {
  return solve(parts_of(steps, warmup, decay_sum), floor, sum);
}

}  // namespace normbench
