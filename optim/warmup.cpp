#include "optim/warmup.h"

#include <cmath>

namespace normbench {

int64_t warmup_of(int64_t steps, double warmup_fraction, int64_t warmup_steps,
                  const JsonObject& object) {
  if (warmup_fraction != 0 && warmup_steps != 0)
    object.fail("warmup_steps", "the warm-up is given twice", std::to_string(warmup_steps),
                "warmup_fraction or warmup_steps");
  const int64_t warmup =
      warmup_steps != 0 ? warmup_steps : std::llround(warmup_fraction * static_cast<double>(steps));
  if (warmup >= steps)
    object.fail(warmup_steps != 0 ? "warmup_steps" : "warmup_fraction",
                "the warm-up does not fit into the run",
                std::to_string(warmup) + " of " + std::to_string(steps) + " steps",
                "fewer steps than the run has");
  return warmup;
}

void require_a_step(int64_t steps, const JsonObject& object) {
  if (steps < 1) object.fail("", "a run needs a step", std::to_string(steps), "1 or more");
}

}  // namespace normbench
