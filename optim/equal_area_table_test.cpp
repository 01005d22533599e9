// The peaks of the settings `equal_area` of suite/tables/ngpt/log_decay.json are what their name
// says: every schedule sums to the rates of the cosine.
#include <gtest/gtest.h>

#include "optim/schedule.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

double mean_rate_of(const Json& arm, double peak) {
  // Long enough that sums are areas: the peaks hold at every budget.
  const int64_t steps = 20000;
  const auto& entry = find_schedule(arm.at("schedule").get<std::string>());
  Json options = entry.default_options;
  options.update(arm.at("schedule_options"));
  const Schedule rate = entry.make(steps, peak, JsonObject(options, "log_decay.json"));
  double sum = 0;
  for (int64_t t = 1; t <= steps; ++t) sum += rate(t);
  return sum / static_cast<double>(steps);
}

TEST(EqualAreaTable, EveryPeakGivesTheAreaOfTheCosine) {
  const Json table = read_json(NORMBENCH_SOURCE_DIR "/suite/tables/ngpt/log_decay.json");
  int settings = 0;
  for (const auto& [tier, content] : table.at("tiers").items()) {
    if (!content.at("settings").contains("equal_area")) continue;
    ++settings;
    const Json& peaks = content.at("settings").at("equal_area").at("peak_lr");
    ASSERT_EQ(peaks.size(), table.at("arms").size()) << tier;
    const auto area = [&](const std::string& arm) {
      return mean_rate_of(table.at("arms").at(arm), peaks.at(arm).at(0).at(1).get<double>());
    };
    const double cosine = area("cosine");
    for (const auto& [arm, rates] : peaks.items())
      // Three digits of a peak, the smallest being 1.35e-3, are .4 % of it.
      EXPECT_NEAR(area(arm) / cosine, 1, .004) << tier << " " << arm;
  }
  EXPECT_EQ(settings, 3);
}

}  // namespace
}  // namespace normbench
