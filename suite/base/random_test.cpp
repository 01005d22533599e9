#include "suite/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace normbench {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NormalsHaveMeanZeroAndVarianceOne) {
  const RandomStream stream(7, "test");
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double z = stream.normal(static_cast<uint64_t>(i));
    sum += z;
    squares += z * z;
  }
  EXPECT_LT(std::abs(sum / kCount), 4 / std::sqrt(kCount));  // four standard errors
  EXPECT_LT(std::abs(squares / kCount - 1), 4 * std::sqrt(2.0 / kCount));
}

TEST(Random, StreamsWithOtherNamesOrSeedsDiffer) {
  EXPECT_NE(RandomStream(0, "a").bits(5), RandomStream(0, "b").bits(5));
  EXPECT_NE(RandomStream(0, "a").bits(5), RandomStream(1, "a").bits(5));
  EXPECT_EQ(RandomStream(3, "a").bits(5), RandomStream(3, "a").bits(5));
}

TEST(Random, APermutationHitsEveryIndexOnce) {
  for (const uint64_t size : {1, 2, 3, 17, 64, 1000, 4097}) {
    const Permutation permutation(size, 11, "test");
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) {
      EXPECT_LT(permutation(i), size);
      seen.insert(permutation(i));
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(Random, PermutationsOfOtherSeedsDiffer) {
  const Permutation a(1000, 0, "test"), b(1000, 1, "test");
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i) equal += a(i) == b(i);
  EXPECT_LT(equal, 12);  // 1 expected; 12 has probability below 1e-9
}

}  // namespace
}  // namespace normbench
