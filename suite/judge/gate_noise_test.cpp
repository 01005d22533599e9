// The pooled noise against sums by hand, and the gate's power on what the smoke tier has committed.
#include "suite/judge/gate_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "suite/judge/statistics.h"

namespace normbench {
namespace {

const std::string kSmoke = NORMBENCH_SOURCE_DIR "/baselines/measured/smoke";

Json group(const std::vector<double>& losses) {
  Json values = Json::array();
  for (size_t i = 0; i < losses.size(); ++i)
    values.push_back({{"seed", i}, {"validation_loss", losses[i]}});
  return {{"n", losses.size()}, {"values", values}};
}

TEST(PooledNoise, IsTheRootMeanSquareByDegreesOfFreedom) {
  // Squares about their means: 2 and .5; degrees of freedom 2 and 1; the single loss has none.
  const Json entry = {{"arms",
                       {{"a", {{"text", {{"1", group({1, 2, 3})}, {"2", group({7})}}}}},
                        {"b", {{"text", {{"1", group({1, 2})}}}}}}}};
  const auto noise = pooled_noise(entry);
  ASSERT_TRUE(noise.has_value());
  EXPECT_EQ(noise->df, 3);
  EXPECT_NEAR(noise->s, std::sqrt(2.5 / 3), 1e-15);
  EXPECT_FALSE(pooled_noise({{"arms", {{"a", {{"text", {{"1", group({1})}}}}}}}}).has_value());
}

TEST(Drift, ALimitIsThePredictionIntervalOfAMean) {
  // t(.975, 10) = 2.228; two seeds against two: sqrt(1/2 + 1/2) = 1.
  Drift drift{.noise = {.s = .1, .df = 10}, .committed_s = .05, .differences = {.1, .3}};
  EXPECT_NEAR(drift.limit(.05), .2228, 1e-4);
  drift.differences = {drift.limit(.05), drift.limit(.05)};
  EXPECT_NEAR(drift.p(), .05, 1e-9);
  drift.committed_s = .2;  // a group noisier than the pool keeps its own noise
  EXPECT_NEAR(drift.limit(.05), .4456, 1e-4);
}

struct Committed {
  RunRef run;
  const Json* group;
};

std::vector<Committed> groups_of(const Json& entry) {
  std::vector<Committed> all;
  for (const auto& [arm, datasets] : entry.at("arms").items())
    for (const auto& [dataset, budgets] : datasets.items())
      for (const auto& [budget, committed] : budgets.items())
        if (!committed_losses(committed.at("values")).empty())
          all.push_back({{"", "", arm, dataset, std::stoll(budget)}, &committed});
  return all;
}

size_t groups_of_the_tier() {
  size_t n = 0;
  for (const auto& file : std::filesystem::directory_iterator(kSmoke))
    n += groups_of(*read_json(file.path().string()).at("entries").begin()).size();
  return n;
}

// Losses of one class of machine against the entry of another, one group shifted.
std::vector<std::string> faults(const Json& now, const Json& committed, const std::string& shifted,
                                double shift) {
  Drifts drifts;
  for (const auto& place : groups_of(committed)) {
    const Json& other = now.at("arms").at(place.run.arm).at(place.run.dataset);
    const auto fresh = committed_losses(other.at(std::to_string(place.run.token_budget))["values"]);
    const auto old = committed_losses(place.group->at("values"));
    EXPECT_EQ(fresh.size(), old.size());
    for (size_t i = 0; i < old.size(); ++i) {
      const double moved = group_name(place.run) == shifted ? shift : 0;
      EXPECT_EQ(drifts.add(place.run, fresh[i] + moved - old[i], place.group->at("values"), "entry",
                           committed),
                "");
    }
  }
  return drifts.faults(.05, groups_of_the_tier());
}

TEST(Drifts, TheLimitNamedIsThatOfHolmsStep) {
  // Family 6, noise .1 with 10 degrees of freedom, two seeds against two: .3277 = .1 t(1 - .05 /
  // 12) for the first, .3169 = .1 t(1 - .05 / 10) for the second, which .32 exceeds.
  const double d = .1 * std::sqrt(5.0);  // eleven losses with a sum of squares of 10 (.1)^2
  const Json committed = group({3, 3}),
             entry = {
                 {"arms",
                  {{"a", {{"text", {{"1", group({3 + d, 3 - d, 3, 3, 3, 3, 3, 3, 3, 3, 3})}}}}}}}};
  Drifts drifts;
  for (const auto& [arm, difference] : {std::pair("a", .5), std::pair("b", .32)})
    for (int seed = 0; seed < 2; ++seed)
      ASSERT_EQ(drifts.add({"", "", arm, "text", 1}, difference, committed, "entry", entry), "");
  const auto found = drifts.faults(.05, 6);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].find("outside +-0.32768"), std::string::npos) << found[0];
  EXPECT_NE(found[1].find("outside +-0.3169"), std::string::npos) << found[1];
}

TEST(Drifts, TheTwoCommittedClassesAgreeAndAShiftOfOneGroupIsSeen) {
  const Json entries = read_json(kSmoke + "/angpt.convergence.json").at("entries");
  ASSERT_GE(entries.size(), 2u);
  for (const auto& [now, losses] : entries.items())
    for (const auto& [committed, entry] : entries.items()) {
      EXPECT_TRUE(faults(losses, entry, "", 0).empty()) << now << " against " << committed;
      for (const double shift : {-.3, .3}) {
        const auto found = faults(losses, entry, "gpt_plus, gcide_1k, 32768", shift);
        ASSERT_EQ(found.size(), 1u) << now << " against " << committed;
        EXPECT_NE(found[0].find("gpt_plus, gcide_1k, 32768"), std::string::npos) << found[0];
      }
    }
}

TEST(Drifts, MostGroupsOfTheSmokeTierNoticeThreeTenthsOfANat) {
  const size_t family = groups_of_the_tier();
  size_t sharp = 0, all = 0;
  for (const auto& file : std::filesystem::directory_iterator(kSmoke)) {
    const Json baseline = read_json(file.path().string()), &entry = *baseline["entries"].begin();
    const auto noise = pooled_noise(entry);
    for (const auto& place : groups_of(entry)) {
      const auto losses = committed_losses(place.group->at("values"));
      const Drift drift{.noise = noise.value(),
                        .committed_s = losses.size() < 2 ? 0 : sample_sd(losses),
                        .differences = losses};
      ++all;
      sharp += drift.limit(.05 / static_cast<double>(family)) < .3;
    }
  }
  // 81 % when this was written; the rest are tables of two to four groups and the noisiest arms.
  EXPECT_GT(sharp, all * 3 / 4);
}

}  // namespace
}  // namespace normbench
