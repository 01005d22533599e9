// Learning-rate schedules, each with a linear warm-up: three of one line here, the others in files
// of their own, and the registry of all. Torch-free.
//   t <= W:  peak t / W          else  r = (t - W) / (steps - W) in (0, 1],  floor + (peak - floor)
//   g(r) cosine: g = (1 + cos(pi r)) / 2     linear: g = 1 - r     constant: g = 1
// t = 1..steps, so the first step already moves the weights and the last one has r = 1. NVIDIA/ngpt
// counts from 0 and makes one update more: its first update has rate 0 when it warms up.
#include "optim/schedule.h"

#include <cmath>
#include <numbers>

#include "optim/inverse_sqrt.h"
#include "optim/logarithmic.h"
#include "optim/warmup.h"
#include "optim/wsd.h"
#include "suite/base/find_entry.h"

namespace normbench {

namespace {

struct DecayOptions {
  double warmup_fraction =
      0;  // part of all steps that warms up, rounded to the nearest step; GPT+ 0.1, others 0
  int64_t warmup_steps = 0;  // the same as a count; give one of the two
  double final_fraction =
      0;  // rate of the last step as a part of the peak; the anGPT paper has 0.01, nGPT 0

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("warmup_fraction", warmup_fraction, share_below_one());
    v.number("warmup_steps", warmup_steps, at_least(0));
    v.number("final_fraction", final_fraction, between(0, 1));
  }
};

double cosine(double r) { return (1 + std::cos(std::numbers::pi * r)) / 2; }
double linear(double r) { return 1 - r; }

template <class Options>
Options read(int64_t steps, const JsonObject& object) {
  const auto o = read_options<Options>(object);
  require_a_step(steps, object);
  return o;
}

template <double (*kDecay)(double)>
Schedule make(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto o = read<DecayOptions>(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const double floor = o.final_fraction * peak_lr;
  return [=](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    return floor + (peak_lr - floor) * kDecay(static_cast<double>(t - warmup) /
                                              static_cast<double>(steps - warmup));
  };
}

/// Area of both: 1/2.
ScheduleShape shape(int64_t steps, const JsonObject& object) {
  const auto o = read<DecayOptions>(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  return {.warmup_share = static_cast<double>(warmup) / static_cast<double>(steps),
          .area = 0.5,
          .final_fraction = o.final_fraction};
}

/// Without a floor: nothing falls to it.
struct ConstantOptions {
  double warmup_fraction = 0;
  int64_t warmup_steps = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("warmup_fraction", warmup_fraction, share_below_one());
    v.number("warmup_steps", warmup_steps, at_least(0));
  }
};

int64_t constant_warmup(int64_t steps, const JsonObject& object) {
  const auto o = read<ConstantOptions>(steps, object);
  return warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
}

Schedule make_constant(int64_t steps, double peak_lr, const JsonObject& object) {
  const int64_t warmup = constant_warmup(steps, object);
  return [=](int64_t t) {
    return t < warmup ? peak_lr * static_cast<double>(t) / static_cast<double>(warmup) : peak_lr;
  };
}

ScheduleShape constant_shape(int64_t steps, const JsonObject& object) {
  const int64_t warmup = constant_warmup(steps, object);
  return {.warmup_share = static_cast<double>(warmup) / static_cast<double>(steps), .area = 1};
}

template <class Options>
ScheduleEntry entry(const char* name, const char* source,
                    Schedule (*make)(int64_t, double, const JsonObject&),
                    ScheduleShape (*shape)(int64_t, const JsonObject&)) {
  return {name, source, options_json(Options{}), option_limits<Options>(), make, shape};
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_registry() {
  static const std::vector<ScheduleEntry> entries = {
      entry<ConstantOptions>("constant", "-", make_constant, constant_shape),
      entry<DecayOptions>("cosine", "Loshchilov & Hutter, arXiv 1608.03983, (5), one period",
                          make<cosine>, shape),
      entry<InverseSqrtOptions>("inverse_sqrt", "arXiv 1706.03762, section 5.3", make_inverse_sqrt,
                                inverse_sqrt_shape),
      entry<DecayOptions>("linear", "-", make<linear>, shape),
      entry<LogarithmicOptions>("logarithmic", "arXiv 2608.01284", make_logarithmic,
                                logarithmic_shape),
      entry<WsdOptions>("wsd", "arXiv 2404.06395; tails of arXiv 2405.18392", make_wsd, wsd_shape),
  };
  return entries;
}

const ScheduleEntry& find_schedule(const std::string& name) {
  return find_entry(schedule_registry(), name, "schedule", "schedule");
}

}  // namespace normbench
