#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace normbench {
namespace {

Schedule make(const std::string& name, int64_t steps, double peak,
              const Json& options = Json::object()) {
  return find_schedule(name).make(steps, peak, JsonObject(options, "test"));
}

TEST(Schedule, StartsAtOneStepOfWarmUpAndEndsAtItsFloor) {
  for (const std::string name : {"cosine", "linear"}) {
    const auto lr = make(name, 100, 0.02, {{"warmup_fraction", 0.1}, {"final_fraction", 0.01}});
    EXPECT_DOUBLE_EQ(lr(1), 0.002) << name;
    EXPECT_DOUBLE_EQ(lr(10), 0.02) << name;
    EXPECT_DOUBLE_EQ(lr(100), 0.0002) << name;
    EXPECT_DOUBLE_EQ(lr(55), (0.02 + 0.0002) / 2)
        << name;  // half way through the decay, both at one half
    for (int64_t t = 11; t <= 100; ++t) EXPECT_LT(lr(t), lr(t - 1)) << name << " " << t;
  }
  EXPECT_DOUBLE_EQ(make("constant", 100, 0.02, {{"warmup_steps", 4}})(1), 0.005);
  EXPECT_DOUBLE_EQ(make("constant", 100, 0.02)(100), 0.02);
}

TEST(Schedule, WithoutWarmUpTheFirstStepIsBelowThePeakByOneStepOfDecay) {
  EXPECT_DOUBLE_EQ(make("linear", 10, 1)(1), 0.9);
  EXPECT_DOUBLE_EQ(make("linear", 10, 1)(10), 0.0);
}

TEST(Schedule, CosineHasTheQuarterPointsOfACosine) {
  const auto lr = make("cosine", 300, 1);
  EXPECT_DOUBLE_EQ(lr(100), 0.75);  // (1 + cos 60 degrees) / 2
  EXPECT_DOUBLE_EQ(lr(200), 0.25);
}

TEST(Schedule, ScalesWithThePeak) {
  const auto one = make("cosine", 50, 1, {{"final_fraction", 0.01}}),
             two = make("cosine", 50, 2, {{"final_fraction", 0.01}});
  for (int64_t t = 1; t <= 50; ++t) EXPECT_DOUBLE_EQ(two(t), 2 * one(t));
}

TEST(Schedule, RefusesWhatDoesNotFitTheRun) {
  EXPECT_THROW(make("cosine", 10, 1, {{"warmup_steps", 10}}), UserError);
  EXPECT_THROW(make("cosine", 10, 1, {{"warmup_steps", -1}}), UserError);
  EXPECT_THROW(make("cosine", 10, 1, {{"warmup_fraction", 1.0}}), UserError);
  EXPECT_THROW(make("cosine", 10, 1, {{"warmup_fraction", 0.1}, {"warmup_steps", 1}}), UserError);
  EXPECT_THROW(make("cosine", 10, 1, {{"final_fraction", 1.5}}), UserError);
  EXPECT_THROW(make("cosine", 10, 1, {{"warm_up", 1}}), UserError);
  EXPECT_THROW(make("cosine", 0, 1), UserError);
  EXPECT_THROW(find_schedule("cosin"), UserError);
}

}  // namespace
}  // namespace normbench
