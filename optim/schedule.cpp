// Learning-rate schedules, each with a linear warm-up. Torch-free.
//   t <= W:  peak t / W          else  r = (t - W) / (steps - W) in (0, 1],  floor + (peak - floor)
//   g(r) cosine: g = (1 + cos(pi r)) / 2     linear: g = 1 - r     constant: g = 1
// t = 1..steps, so the first step already moves the weights and the last one has r = 1. NVIDIA/ngpt
// counts from 0 and makes one update more: its first update has rate 0 when it warms up.
#include "optim/schedule.h"

#include <cmath>
#include <numbers>

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

int64_t warmup_of(int64_t steps, const DecayOptions& o, const JsonObject& object) {
  if (o.warmup_fraction != 0 && o.warmup_steps != 0)
    object.fail("warmup_steps", "the warm-up is given twice", std::to_string(o.warmup_steps),
                "warmup_fraction or warmup_steps");
  if (!(o.warmup_fraction >= 0 && o.warmup_fraction < 1))
    object.fail("warmup_fraction", "not a part of the run", std::to_string(o.warmup_fraction),
                "0 <= fraction < 1");
  const int64_t warmup = o.warmup_steps != 0
                             ? o.warmup_steps
                             : std::llround(o.warmup_fraction * static_cast<double>(steps));
  if (warmup < 0 || warmup >= steps)
    object.fail(o.warmup_steps != 0 ? "warmup_steps" : "warmup_fraction",
                "the warm-up does not fit into the run",
                std::to_string(warmup) + " of " + std::to_string(steps) + " steps",
                "fewer steps than the run has");
  return warmup;
}

template <double (*kDecay)(double)>
Schedule make(int64_t steps, double peak_lr, const JsonObject& object) {
  const auto o = read_options<DecayOptions>(object);
  if (steps < 1) object.fail("", "a run needs a step", std::to_string(steps), "1 or more");
  if (!(o.final_fraction >= 0 && o.final_fraction <= 1))
    object.fail("final_fraction", "not a part of the peak", std::to_string(o.final_fraction),
                "0 <= fraction <= 1");
  const int64_t warmup = warmup_of(steps, o, object);
  const double floor = o.final_fraction * peak_lr;
  return [=](int64_t t) {
    if (t < warmup) return peak_lr * static_cast<double>(t) / static_cast<double>(warmup);
    return floor + (peak_lr - floor) * kDecay(static_cast<double>(t - warmup) /
                                              static_cast<double>(steps - warmup));
  };
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_registry() {
  static const Json defaults = options_json(DecayOptions{});
  static const std::vector<ScheduleEntry> entries = {
      {"constant", "-", defaults, make<constant>},
      {"cosine", "Loshchilov & Hutter, arXiv 1608.03983, (5), one period", defaults, make<cosine>},
      {"linear", "-", defaults, make<linear>},
  };
  return entries;
}

const ScheduleEntry& find_schedule(const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& entry : schedule_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
    all += (all.empty() ? "" : ", ") + entry.name;
  }
  const std::string near = nearest(name, names);
  throw UserError({.what = "unknown schedule",
                   .where = "schedule",
                   .found = "\"" + name + "\"",
                   .expected = "one of: " + all,
                   .todo = near.empty() ? "" : "did you mean \"" + near + "\"?"});
}

}  // namespace normbench
