// Golden files of schedules: the rate of every step, and areas under the curve.
#include <torch/torch.h>

#include "optim/schedule.h"
#include "suite/app/parity_case.h"

namespace normbench {

namespace {

double sum(const Schedule& lr, int64_t steps) {
  double total = 0;
  for (int64_t t = 1; t <= steps; ++t) total += lr(t);
  return total;
}

/// Area under g(r), r in [0, 1], by the trapezoidal rule on the schedule itself: exact for a line,
/// and for the half period of a cosine, whose samples cancel in pairs.
double area(const ScheduleEntry& entry) {
  constexpr int64_t kSamples = 1024;
  const Json options = Json::object();
  const auto g = entry.make(kSamples, 1, JsonObject(options, "config"));
  return (sum(g, kSamples) + (g(0) - g(kSamples)) / 2) / kSamples;
}

torch::Tensor number(double value) { return torch::scalar_tensor(value, torch::kDouble); }

}  // namespace

std::string check_schedule_parity(ParityCase& golden) {
  const auto config = golden.config();
  const auto name = config.required<std::string>("schedule");
  const auto steps = config.required<int64_t>("steps"),
             warmup = config.required<int64_t>("warmup_steps");
  const double peak = config.required<double>("lr_max"), floor = config.required<double>("lr_min");
  const auto reference = config.object("reference");
  require_value<std::string>(reference, "schedule", "cosine");
  require_value(reference, "lr_max", peak);
  require_value(reference, "lr_min", floor);
  const double reference_per_step = reference.required<double>("auc_per_step_continuous");
  const double reference_auc = reference.required<double>("auc_discrete");
  reference.finish();
  for (const char* word : {"indexing", "kind", "grads_of"}) config.ignore(word);
  config.finish();
  if (name != "cosine" && name != "linear" && name != "constant")
    config.fail("schedule", "parity does not know this schedule", "\"" + name + "\"",
                "constant, cosine or linear");

  const auto& entry = find_schedule(name);
  const Json options = {{"warmup_steps", warmup}, {"final_fraction", floor / peak}};
  const auto lr = entry.make(steps, peak, JsonObject(options, "config"));
  std::vector<double> rates;
  for (int64_t t = 1; t <= steps; ++t) rates.push_back(lr(t));
  golden.expect("out.lr", torch::tensor(rates, torch::kDouble));
  golden.expect("out.auc", number(sum(lr, steps)));

  // The reference is the cosine of the same peak, floor and warm-up.
  const auto cosine = find_schedule("cosine").make(steps, peak, JsonObject(options, "config"));
  golden.expect_number("config.reference.auc_discrete", sum(cosine, steps), reference_auc);
  const double w = static_cast<double>(warmup) / static_cast<double>(steps);
  const auto per_step = [&](double a) {
    return w * peak / 2 + (1 - w) * (floor + (peak - floor) * a);
  };
  golden.expect_number("config.reference.auc_per_step_continuous",
                       per_step(area(find_schedule("cosine"))), reference_per_step);

  // The peak at which this schedule has the reference's area: the area is linear in the peak, the
  // floor is fixed.
  const double a = area(entry);
  golden.expect("out.area", number(a));
  golden.expect("out.equal_auc_peak_continuous",
                number((reference_per_step - (1 - w) * floor * (1 - a)) / (w / 2 + (1 - w) * a)));
  const Json to_zero = {{"warmup_steps", warmup}};
  const double per_peak =
      sum(entry.make(steps, 1, JsonObject(to_zero, "config")), steps);  // warm-up and g
  const double warmup_sum = static_cast<double>(warmup + 1) / 2 * (warmup > 0 ? 1 : 0);
  const double floor_sum = floor * (static_cast<double>(steps - warmup) - (per_peak - warmup_sum));
  golden.expect("out.equal_auc_peak_discrete", number((reference_auc - floor_sum) / per_peak));
  return "schedule " + name;
}

}  // namespace normbench
