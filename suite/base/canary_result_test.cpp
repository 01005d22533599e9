#include "suite/base/canary_result.h"

#include <gtest/gtest.h>

#include "suite/base/files.h"
#include "suite/base/testing/temporary_folder.h"

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

TEST(CanaryResult, IsRememberedForOneBuildAndADamagedFileIsNone) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.path() + "/canary.json";
  EXPECT_FALSE(remembered_canary(file, "build"));
  Json whole = manifest_of(kHere);
  whole["build_id"] = "build";
  write_json(file, whole);
  const auto known = remembered_canary(file, "build");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->numeric_class, kHere.numeric_class);
  EXPECT_EQ(known->digest, kHere.digest);
  EXPECT_EQ(known->numbers, kHere.numbers);
  EXPECT_FALSE(remembered_canary(file, "another build"));
  for (const char* damaged : {"", "{", "[]", "{\"build_id\": \"build\"}", "{\"build_id\": 1}"}) {
    write_file_atomically(file, damaged);
    EXPECT_FALSE(remembered_canary(file, "build")) << damaged;
  }
}

}  // namespace
}  // namespace normbench
