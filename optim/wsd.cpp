#include "optim/wsd.h"

#include <cmath>
#include <numbers>

#include "optim/warmup.h"

namespace normbench {

namespace {

struct Plan {
  WsdOptions o;
  int64_t warmup, decay;  // steps
};

Plan read_plan(int64_t steps, const JsonObject& object) {
  const auto o = read_options<WsdOptions>(object);
  require_a_step(steps, object);
  const WsdOptions unused;
  if (o.decay_fraction == 0 && o.final_fraction != unused.final_fraction)
    object.fail("final_fraction", "an option without effect", Json(o.final_fraction).dump(),
                Json(unused.final_fraction).dump() + ", unless decay_fraction is above 0");
  if (o.decay_fraction == 0 && o.tail != unused.tail)
    object.fail("tail", "an option without effect", Json(o.tail).dump(),
                Json(unused.tail).dump() + ", unless decay_fraction is above 0");
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const int64_t decay = std::llround(o.decay_fraction * static_cast<double>(steps));
  if (decay > steps - warmup)
    object.fail("decay_fraction", "the decay does not fit between the warm-up and the end",
                Json(o.decay_fraction).dump(),
                "0 <= fraction <= " +
                    Json(static_cast<double>(steps - warmup) / static_cast<double>(steps)).dump());
  return {o, warmup, decay};
}

}  // namespace

double wsd_tail(const std::string& tail, double p) {
  if (tail == "linear") return 1 - p;
  if (tail == "1-sqrt") return 1 - std::sqrt(p);
  if (tail == "cosine") return (1 + std::cos(std::numbers::pi * p)) / 2;
  return 2 * std::exp2(-p) - 1;  // exp
}

double wsd_tail_area(const std::string& tail) {
  if (tail == "1-sqrt") return 1.0 / 3;
  if (tail == "exp") return 1 / std::numbers::ln2 - 1;
  return 0.5;  // linear, cosine
}

double wsd_area(const std::string& tail, double decay_share, double warmup_share) {
  return 1 - (1 - wsd_tail_area(tail)) * decay_share / (1 - warmup_share);
}

Schedule make_wsd(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto [o, warmup, decay] = read_plan(steps, object);
  const double floor = o.final_fraction * peak_lr;
  return [o, warmup, decay, floor, steps, peak_lr](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    if (t <= steps - decay) return peak_lr;
    const double p = static_cast<double>(t - (steps - decay)) / static_cast<double>(decay);
    return floor + (peak_lr - floor) * wsd_tail(o.tail, p);
  };
}

ScheduleShape wsd_shape(int64_t steps, const JsonObject& object) {
  const auto [o, warmup, decay] = read_plan(steps, object);
  const double all = static_cast<double>(steps), w = static_cast<double>(warmup) / all;
  return {.warmup_share = w,
          .area = wsd_area(o.tail, static_cast<double>(decay) / all, w),
          .final_fraction = o.final_fraction};
}

}  // namespace normbench
