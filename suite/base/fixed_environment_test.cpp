#include "suite/base/fixed_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace normbench {
namespace {

TEST(FixedEnvironment, SetsWhatIsMissingOnceAndLeavesWhatAPersonSet) {
  ::setenv("OMP_NUM_THREADS", "2", 1);
  ::unsetenv("MKL_ENABLE_INSTRUCTIONS");
  EXPECT_TRUE(complete_environment());
  EXPECT_STREQ(std::getenv("OMP_NUM_THREADS"), "2");
  EXPECT_STREQ(std::getenv("MKL_ENABLE_INSTRUCTIONS"), "AVX2");
  EXPECT_FALSE(complete_environment());
}

}  // namespace
}  // namespace normbench
