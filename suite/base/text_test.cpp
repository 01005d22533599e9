#include "suite/base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace normbench {
namespace {

TEST(Text, NumbersOfFixedDigits) {
  EXPECT_EQ(fixed(1.23456, 3), "1.235");
  EXPECT_EQ(fixed(std::numeric_limits<double>::quiet_NaN(), 3), "-");
  EXPECT_EQ(fixed(-std::numeric_limits<double>::infinity(), 3), "-inf");
}

TEST(Text, NumbersThatDifferDoNotPrintAlike) {
  EXPECT_EQ(digits_apart(0.1, 0.2, 3), 3);
  EXPECT_EQ(digits_apart(0.02, 0.02004, 3), 5);
  EXPECT_EQ(digits_apart(0.02, 0.02, 3), 3);
}

TEST(Text, TokensInThreeDigitsAndAUnit) {
  for (const auto& [tokens, text] :
       {std::pair(512.0, "512"), std::pair(999.0, "999"), std::pair(65536.0, "65.5 k"),
        std::pair(9996.0, "10.0 k"), std::pair(999949.0, "1.00 M"), std::pair(999400.0, "999 k"),
        std::pair(1048576.0, "1.05 M"), std::pair(10485760000.0, "10.5 B"),
        std::pair(2.5e12, "2500 B")})
    EXPECT_EQ(tokens_text(tokens), text);
}

TEST(Text, RoundedToSignificantDigits) {
  EXPECT_EQ(round_to(0.0113137, 3), 0.0113);
  EXPECT_EQ(round_to(0, 3), 0);
  EXPECT_EQ(plain_text(-0.05280), "-0.0528");
  EXPECT_EQ(plain_text(1.2e-16), "1.2e-16");
}

TEST(Text, OneAndMany) {
  EXPECT_EQ(count_text(0, "run"), "0 runs");
  EXPECT_EQ(count_text(1, "run"), "1 run");
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, LinesAndColumns) {
  EXPECT_EQ(wrap("one two  three", 9, "  "), "  one two\n  three\n");
  EXPECT_EQ(wrap("unbreakable", 4, ""), "unbreakable\n");
  EXPECT_EQ(wrap("", 9, "  "), "");
  EXPECT_EQ(pad("ab", 4) + "|" + pad("ab", 4, /*right=*/true) + "|" + pad("abcde", 4),
            "ab  |  ab|abcde");
}

}  // namespace
}  // namespace normbench
