#include "suite/base/checkpoint_name.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

TEST(CheckpointName, SortsLikeItsStepAndGivesItBack) {
  EXPECT_EQ(checkpoint_name(64), "checkpoint_000000000064.safetensors");
  EXPECT_LT(checkpoint_name(999), checkpoint_name(1000));
  for (const int64_t step : {0L, 1L, 2048L, 999'999'999'999L})
    EXPECT_EQ(checkpoint_step(checkpoint_name(step)), step);
}

TEST(CheckpointName, OfAnotherFileHasNoStep) {
  for (const char* name :
       {"", "summary.json", "checkpoint_.safetensors", "checkpoint_12x.safetensors",
        "checkpoint_000000000064.safetensors.tmp", "my_checkpoint_1.safetensors",
        "checkpoint_.safe", "checkpoint_99999999999999999999.safetensors"})
    EXPECT_EQ(checkpoint_step(name), std::nullopt) << name;
}

}  // namespace
}  // namespace normbench
