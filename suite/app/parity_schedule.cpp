// Golden files of schedules: the rate of every step, and areas under the curve.
#include <torch/torch.h>

#include <cmath>
#include <functional>

#include "optim/logarithmic.h"
#include "optim/schedule.h"
#include "optim/wsd.h"
#include "suite/app/parity_case.h"

namespace normbench {

namespace {

double sum(const Schedule& lr, int64_t steps) {
  double total = 0;
  for (int64_t t = 1; t <= steps; ++t) total += lr(t);
  return total;
}

torch::Tensor number(double value) { return torch::scalar_tensor(value, torch::kDouble); }

/// The registry's schedule for a name of the golden files, and the options that only it has.
struct Choice {
  const ScheduleEntry* entry;
  Json own_options = Json::object();
};

Choice read_choice(const JsonObject& config, int64_t steps) {
  const auto name = config.required<std::string>("schedule");
  for (const char* same : {"constant", "cosine", "linear"})
    if (name == same) return {&find_schedule(name)};
  if (name == "inv_sqrt") {
    config.ignore("inv_sqrt");
    return {&find_schedule("inverse_sqrt")};
  }
  if (name == "log")
    return {&find_schedule("logarithmic"), {{"rho", config.required<double>("rho")}}};
  for (const auto& [theirs, tail] :
       {std::pair("wsd_linear", "linear"), std::pair("wsd_1sqrt", "1-sqrt"),
        std::pair("wsd_cosine", "cosine"), std::pair("wsd_exp", "exp")}) {
    if (name != theirs) continue;
    config.ignore("wsd");
    const auto decay = static_cast<double>(config.required<int64_t>("decay_steps"));
    return {&find_schedule("wsd"),
            {{"tail", tail}, {"decay_fraction", decay / static_cast<double>(steps)}}};
  }
  config.fail("schedule", "parity does not know this schedule", "\"" + name + "\"",
              "constant, cosine, linear, inv_sqrt, log, or wsd_ and linear, 1sqrt, cosine or exp");
}

std::string check_one(ParityCase& golden, const JsonObject& config) {
  const auto steps = config.required<int64_t>("steps"),
             warmup = config.required<int64_t>("warmup_steps");
  if (const auto rates = golden.tensor("out.lr").numel(); rates != steps)
    config.fail("steps", "out.lr has another length", std::to_string(steps), std::to_string(rates));
  const double peak = config.required<double>("lr_max"), floor = config.required<double>("lr_min");
  const auto reference = config.object("reference");
  require_value<std::string>(reference, "schedule", "cosine");
  require_value(reference, "lr_max", peak);
  require_value(reference, "lr_min", floor);
  const double reference_mean = reference.required<double>("auc_per_step_continuous");
  const double reference_sum = reference.required<double>("auc_discrete");
  reference.finish();
  const auto [entry, own_options] = read_choice(config, steps);
  for (const char* word : {"indexing", "kind", "grads_of"}) config.ignore(word);
  config.finish();

  const auto options = [&, &own = own_options](double final_fraction) {
    Json all = own;
    all["warmup_steps"] = warmup;
    all["final_fraction"] = final_fraction;
    return all;
  };
  const Json full = options(floor / peak), to_zero = options(0);
  const auto lr = entry->make(steps, peak, JsonObject(full, "config"));
  std::vector<double> rates;
  for (int64_t t = 1; t <= steps; ++t) rates.push_back(lr(t));
  golden.expect("out.lr", torch::tensor(rates, torch::kDouble));
  golden.expect("out.auc", number(sum(lr, steps)));

  // The reference is the cosine of the same peak, floor and warm-up.
  const Json plain = {{"warmup_steps", warmup}, {"final_fraction", floor / peak}};
  const auto& cosine = find_schedule("cosine");
  golden.expect_number("config.reference.auc_discrete",
                       sum(cosine.make(steps, peak, JsonObject(plain, "config")), steps),
                       reference_sum);
  golden.expect_number("config.reference.auc_per_step_continuous",
                       mean_rate(cosine.shape(steps, JsonObject(plain, "config")), peak),
                       reference_mean);

  // A file whose floor is a maximum instead of an offset has no equal-area values.
  if (!golden.has("out.area")) return entry->name;
  auto shape = entry->shape(steps, JsonObject(to_zero, "config"));
  shape.floor = floor;
  golden.expect("out.area", number(shape.area));
  golden.expect("out.equal_auc_peak_continuous", number(peak_of_mean_rate(shape, reference_mean)));
  const double ramp = warmup > 0 ? static_cast<double>(warmup + 1) / 2 : 0;
  double decay_sum = sum(entry->make(steps, 1, JsonObject(to_zero, "config")), steps) - ramp;
  if (entry->name == "logarithmic") {
    const double rho = config.required<double>("rho");
    decay_sum = log_decay_sum(rho, steps - warmup);
    golden.expect("out.G_closed_form", number(decay_sum));
    golden.expect("out.auc_closed_form",
                  number(summed_rate(steps, warmup, decay_sum, floor, peak)));
    golden.expect("out.half_progress", number(log_half_progress(rho)));
  }
  golden.expect("out.equal_auc_peak_discrete",
                number(peak_of_summed_rate(steps, warmup, decay_sum, floor, reference_sum)));
  return entry->name;
}

/// Closed forms of the logarithmic decay for several rho.
std::string check_table(ParityCase& golden, const JsonObject& config) {
  const double w = config.required<double>("warmup_share"),
               wsd_share = config.required<double>("wsd_decay_share_of_total");
  const auto n = config.required<int64_t>("n");
  require_value(config, "lr_min", 0.0);
  for (const char* word : {"note", "kind", "grads_of"}) config.ignore(word);
  config.finish();
  const auto each = [](torch::Tensor x, const std::function<double(double)>& f) {
    for (auto i = x.numel(); i-- > 0;) x[i] = f(x[i].item<double>());
    return x;
  };
  const auto expect = [&](const std::string& name, const std::function<double(double)>& f) {
    golden.expect("out." + name, each(golden.input("input.rho"), f));
  };
  expect("G", [n](double rho) { return log_decay_sum(rho, n); });
  expect("area", log_area);
  for (const auto& [name, r] : {std::pair("10pct", 0.1), std::pair("50pct", 0.5)})
    expect("area_share_first_" + std::string(name),
           [r = r](double rho) { return log_area_until(rho, r) / log_area(rho); });
  expect("half_progress", log_half_progress);
  expect("int_square", log_square_area);
  const auto ratio = [w](double reference_area) {
    return [=](double rho) {
      return equal_area_peak({.warmup_share = w, .area = log_area(rho)},
                             {.warmup_share = w, .area = reference_area}, 1);
    };
  };
  expect("peak_ratio_vs_cosine", ratio(0.5));
  expect("peak_ratio_vs_wsd_1sqrt", ratio(wsd_area("1-sqrt", wsd_share, w)));
  golden.expect("out.rho_of_area", each(golden.input("input.area"), log_rho_of_area));
  return "table";
}

}  // namespace

std::string check_schedule_parity(ParityCase& golden) {
  const auto config = golden.config();
  const bool table = config.optional<std::string>("kind", "schedule") == "schedule_table";
  return "schedule " + (table ? check_table(golden, config) : check_one(golden, config));
}

}  // namespace normbench
