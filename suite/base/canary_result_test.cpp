#include "suite/base/canary_result.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

Json manifest_of(const CanaryResult& canary) {
  Json manifest = Json::object();
  write_canary(canary, manifest);
  return manifest;
}

const CanaryResult kHere = {"cpu-1", "d1", {5.0, 4.0, 0.0}};

TEST(CanaryResult, InOneClassEveryBitCounts) {
  EXPECT_EQ(staleness(manifest_of(kHere), kHere), "");
  CanaryResult other = kHere;
  other.digest = "d2";
  EXPECT_NE(staleness(manifest_of(other), kHere), "");
}

TEST(CanaryResult, BetweenClassesRoundingIsForgivenAndAnotherEquationIsNot) {
  EXPECT_EQ(staleness(manifest_of({"cpu-2", "d2", {5.000005, 4.0, 0.0}}), kHere), "");
  EXPECT_NE(staleness(manifest_of({"cpu-2", "d2", {5.001, 4.0, 0.0}}), kHere), "");
  EXPECT_NE(staleness(manifest_of({"cpu-2", "d2", {5.0, 4.0, 1e-9}}), kHere), "");
  EXPECT_NE(staleness(manifest_of({"cpu-2", "d2", {5.0, 4.0}}), kHere), "");
}

TEST(CanaryResult, ARecordWithoutNumbersIsJudgedInItsOwnClassAlone) {
  EXPECT_EQ(staleness(manifest_of({"cpu-2", "d2", {}}), kHere), "");
  EXPECT_NE(staleness(manifest_of({"cpu-1", "d2", {}}), kHere), "");
}

}  // namespace
}  // namespace normbench
