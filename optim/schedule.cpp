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
    v.field("warmup_fraction", warmup_fraction);
    v.field("warmup_steps", warmup_steps);
    v.field("final_fraction", final_fraction);
  }
};

double cosine(double r) { return (1 + std::cos(std::numbers::pi * r)) / 2; }
double linear(double r) { return 1 - r; }
double constant(double) { return 1; }

DecayOptions read(int64_t steps, const JsonObject& object) {
  const auto o = read_options<DecayOptions>(object);
  check_decay(steps, "final_fraction", o.final_fraction, object);
  return o;
}

template <double (*kDecay)(double)>
Schedule make(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto o = read(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  const double floor = o.final_fraction * peak_lr;
  return [=](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    return floor + (peak_lr - floor) * kDecay(static_cast<double>(t - warmup) /
                                              static_cast<double>(steps - warmup));
  };
}

/// Area of constant: 1; of cosine and linear: 1/2.
template <int kPercent>
ScheduleShape shape(int64_t steps, const JsonObject& object) {
  const auto o = read(steps, object);
  const int64_t warmup = warmup_of(steps, o.warmup_fraction, o.warmup_steps, object);
  return {.warmup_share = static_cast<double>(warmup) / static_cast<double>(steps),
          .area = kPercent / 100.0,
          .final_fraction = o.final_fraction};
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_registry() {
  static const Json defaults = options_json(DecayOptions{});
  static const std::vector<ScheduleEntry> entries = {
      {"constant", "-", defaults, make<constant>, shape<100>},
      {"cosine", "Loshchilov & Hutter, arXiv 1608.03983, (5), one period", defaults, make<cosine>,
       shape<50>},
      {"inverse_sqrt", "arXiv 1706.03762, section 5.3", options_json(InverseSqrtOptions{}),
       make_inverse_sqrt, inverse_sqrt_shape},
      {"linear", "-", defaults, make<linear>, shape<50>},
      {"logarithmic", "arXiv 2608.01284", options_json(LogarithmicOptions{}), make_logarithmic,
       logarithmic_shape},
      {"wsd", "arXiv 2404.06395; tails of arXiv 2405.18392", options_json(WsdOptions{}), make_wsd,
       wsd_shape},
  };
  return entries;
}

const ScheduleEntry& find_schedule(const std::string& name) {
  return find_entry(schedule_registry(), name, "schedule", "schedule");
}

}  // namespace normbench
