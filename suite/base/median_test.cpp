#include "suite/base/median.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

TEST(Median, OfAnOddNumberIsTheOneInTheMiddle) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 4}), 4);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({1, 2}), 1.5);
  EXPECT_EQ(median({8, 1, 4, 2}), 3);
}

}  // namespace
}  // namespace normbench
