// Where one arm overtakes another, on invented losses whose gaps are known exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::World;

const std::vector<int64_t> kBudgets = {1048576, 2097152, 4194304, 8388608};

Json crossing() {
  return {{"rule", "crossing"}, {"challenger", "angpt"}, {"reference", "gpt_plus"}};
}

using Leads = std::function<double(int64_t seed, int64_t budget)>;

// gap_s(D) = leads(s, D) exactly; infinite leads are diverged runs.
World world_with(const Leads& leads) {
  return World({}, [leads](const RunRef& run, double loss) {
    if (run.seed == 101) return loss;  // the sweep
    const double lead = leads(run.seed, run.token_budget);
    if (std::isinf(lead)) return (run.arm == "angpt") == (lead < 0) ? INFINITY : 3.0;
    return run.arm == "angpt" ? 3 - lead : 3.0;
  });
}

// At the four budgets, spread over the seeds by .004 a seed.
Leads along(const std::vector<double>& leads) {
  return [leads](int64_t seed, int64_t budget) {
    const auto at = std::find(kBudgets.begin(), kBudgets.end(), budget) - kBudgets.begin();
    return leads[static_cast<size_t>(at)] + .004 * static_cast<double>(seed - 3);
  };
}

TEST(Crossing, BehindFirstAndAheadLastIsReproducedWithItsPlace) {
  World world = world_with(along({-.1, -.03, .05, .1}));
  const Verdict verdict = world.judge(crossing());
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  std::vector<double> places;  // between 2 M and 4 M, a factor 2
  for (int seed = 1; seed <= 5; ++seed)
    places.push_back(std::log(2097152.0) + std::log(2.0) * (.03 - .004 * (seed - 3)) / .08);
  EXPECT_NEAR(*verdict.estimate, std::exp(mean(places)), 1);  // tokens; exact up to rounding
  EXPECT_NEAR(*verdict.low, std::exp(t_interval(places, .05).low), 1);
  EXPECT_NEAR(*verdict.high, std::exp(t_interval(places, .05).high), 1);
  EXPECT_EQ(verdict.bound, "");
  EXPECT_EQ(verdict.pairs, 5);
  EXPECT_EQ(verdict.facts[0], "seed 1: crosses at 2.91 M");  // 2097152 * 2^(.038 / .08)
}

TEST(Crossing, OneThatIsAlwaysAheadOrAlwaysBehindOrFallsBehindIsNotReproduced) {
  World ahead = world_with(along({.02, .05, .1, .2}));
  const Verdict always = ahead.judge(crossing());
  EXPECT_EQ(name(always.outcome), "NOT_REPRODUCED") << always.reason;
  EXPECT_EQ(always.bound, "<=");
  EXPECT_FALSE(always.low.has_value());
  World behind = world_with(along({-.2, -.1, -.05, -.02}));
  const Verdict never = behind.judge(crossing());
  EXPECT_EQ(name(never.outcome), "NOT_REPRODUCED") << never.reason;
  EXPECT_EQ(never.bound, ">=");
  EXPECT_FALSE(never.high.has_value());
  World falls = world_with(along({.1, .05, -.05, -.1}));
  EXPECT_EQ(name(falls.judge(crossing()).outcome), "NOT_REPRODUCED");
}

TEST(Crossing, AnEndThatHoldsZeroIsInconclusive) {
  World start = world_with(along({0, .02, .05, .1}));
  const Verdict verdict = start.judge(crossing());
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_GT(verdict.pairs_needed.value_or(0), 5);
  World end = world_with(along({-.1, -.05, -.02, 0}));
  EXPECT_EQ(name(end.judge(crossing()).outcome), "INCONCLUSIVE");
}

TEST(Crossing, TheLastCrossingOfASeedCounts) {
  World world = world_with(along({-.1, .05, -.03, .1}));
  const Verdict verdict = world.judge(crossing());
  EXPECT_GT(*verdict.low, 4194304) << verdict.reason;
}

TEST(Crossing, ASeedWithoutACrossingOpensTheIntervalAndIsCounted) {
  const Leads most = along({-.1, -.03, .05, .1});
  World world = world_with(
      [most](int64_t seed, int64_t budget) { return seed == 2 ? .02 : most(seed, budget); });
  const Verdict verdict = world.judge(crossing());
  EXPECT_EQ(verdict.bound, "<=");
  EXPECT_FALSE(verdict.low.has_value());
  EXPECT_TRUE(verdict.high.has_value());
  EXPECT_NE(verdict.reason.find("1 of 5 seeds has no crossing inside the ladder"),
            std::string::npos)
      << verdict.reason;
  EXPECT_EQ(verdict.facts[1], "seed 2: never behind");
}

TEST(Crossing, ADivergedRunOpensItsEnd) {
  const Leads most = along({-.1, -.03, .05, .1});
  const auto with = [&](int64_t budget, double lead) {
    World world = world_with([=](int64_t seed, int64_t at) {
      return seed == 1 && at == budget ? lead : most(seed, at);
    });
    return world.judge(crossing());
  };
  // A challenger that diverged at the first budget is behind there, one at the last not ahead.
  const Verdict first = with(1048576, -INFINITY);
  EXPECT_EQ(name(first.outcome), "REPRODUCED") << first.reason;
  EXPECT_EQ(first.diverged.size(), 1u);
  EXPECT_FALSE(first.p_value.has_value());
  const Verdict last = with(8388608, -INFINITY);
  EXPECT_EQ(name(last.outcome), "INCONCLUSIVE") << last.reason;
  EXPECT_EQ(last.bound, ">=");
  EXPECT_FALSE(last.p_value.has_value());
  EXPECT_EQ(name(with(1048576, INFINITY).outcome), "INCONCLUSIVE");
  // Beside the crossing it leaves the place open, not the order of the ends.
  const Verdict beside = with(2097152, -INFINITY);
  EXPECT_EQ(name(beside.outcome), "REPRODUCED") << beside.reason;
  EXPECT_EQ(beside.bound, "open");
  EXPECT_TRUE(beside.p_value.has_value());
  EXPECT_EQ(beside.facts[0], "seed 1: a run diverged beside the crossing");
}

TEST(Crossing, OneBudgetOrOneSeedDecidesNothing) {
  testing::SyntheticOptions options;
  options.budgets = {1048576};
  World one_budget(options);
  EXPECT_EQ(name(one_budget.judge(crossing()).statistics_say), "INCONCLUSIVE");
  options = {};
  options.seeds = {1};
  World one_seed(options);
  EXPECT_EQ(name(one_seed.judge(crossing()).outcome), "INCONCLUSIVE");
}

TEST(Crossing, IsReadStrictlyAndShown) {
  World world = world_with(along({-.1, -.03, .05, .1}));
  EXPECT_EQ(claim_error(world.input, crossing()), "");
  Json claim = crossing();
  claim["published"] = "/speed_up";
  EXPECT_NE(claim_error(world.input, claim).find("published"), std::string::npos);
  claim = crossing();
  claim.erase("reference");
  EXPECT_NE(claim_error(world.input, claim).find("reference"), std::string::npos);
  world.judge(crossing());
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  const std::string text = ledger_text(ledger);
  EXPECT_NE(text.find("by budget: 1.05 M -0.100 (-0.108 .. -0.092)"), std::string::npos) << text;
  EXPECT_NE(text.find("2.72 M"), std::string::npos) << text;  // 2097152 * 2^(3/8)
  EXPECT_NE(report_page({ledger}, "").find("2.72 M"), std::string::npos);
}

}  // namespace
}  // namespace normbench
