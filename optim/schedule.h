// Learning-rate schedules: pure functions of the step. Torch-free.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "optim/schedule_shape.h"
#include "suite/base/options.h"

namespace normbench {

/// lr(t) for optimiser step t = 1..steps. Exactly `steps` updates are made, none with a rate that
/// only repeats the last.
using Schedule = std::function<double(int64_t t)>;

struct ScheduleEntry {
  std::string name;
  std::string source;
  Json default_options;
  Json limits;  // {option: limit}, suite/base/limits.h
  /// Throws UserError when the options do not fit (warm-up longer than the run).
  Schedule (*make)(int64_t steps, double peak_lr, const JsonObject& options);
  /// The area under the same schedule in closed form (schedule_shape.h); its floor is a part of the
  /// peak.
  ScheduleShape (*shape)(int64_t steps, const JsonObject& options);
};

const std::vector<ScheduleEntry>& schedule_registry();
const ScheduleEntry& find_schedule(const std::string& name);

}  // namespace normbench
