// What rules about several gaps share: p, the alpha that they share, and the pairs that they need.
#include "suite/judge/paired.h"

#include <gtest/gtest.h>

#include <cmath>

namespace normbench {
namespace {

Effect gap_of(std::vector<double> values) {
  Effect effect{.values = std::move(values)};
  effect.finish(.05);
  return effect;
}

const Effect kAhead = gap_of({.10, .12, .11, .09, .13});
// Mean -.1, s .0756: the 95 % interval ends at -.006, the one at alpha / 2 reaches over 0.
const Effect kBehind = gap_of({-.19, -.02, -.17, -.05, -.07});

TEST(Gaps, APOfSeveralIsOneForAGapOnTheWrongSide) {
  EXPECT_EQ(p_of_gaps({kAhead}, false), kAhead.p_value);
  EXPECT_EQ(p_of_gaps({kBehind}, false), kBehind.p_value);  // alone it speaks of either side
  EXPECT_EQ(p_of_gaps({kAhead, kBehind}, false), 1);
  EXPECT_EQ(p_of_gaps({kAhead, kAhead}, false), kAhead.p_value);
}

TEST(Gaps, APOfAReversedOneIsItsOwnTimesTheirNumber) {
  EXPECT_DOUBLE_EQ(p_of_gaps({kAhead, kBehind}, true), 2 * kBehind.p_value);
  EXPECT_DOUBLE_EQ(p_of_gaps({kBehind}, true), kBehind.p_value);
}

TEST(Gaps, AnIntervalThatOnlyTheSharedAlphaKeepsOpenIsShownWithIt) {
  ASSERT_LT(kBehind.interval.high, 0);
  ASSERT_FALSE(gap_reversed(kBehind, .05 / 2));
  const Interval wider = t_interval(kBehind.values, .05 / 2);
  ASSERT_GT(wider.high, 0);
  EXPECT_EQ(shared_alpha_text(kBehind, .05, 2),
            ", which with alpha shared by 2 is -0.218 .. 0.018");
  EXPECT_EQ(shared_alpha_text(kBehind, .05, 1), "");  // there it is reversed
  EXPECT_EQ(shared_alpha_text(kAhead, .05, 2), "");
}

TEST(Gaps, EverySeedIsShown) {
  EXPECT_EQ(by_seed_text({.008, .014, .235}), "seed by seed 0.008 0.014 0.235");
  EXPECT_EQ(by_seed_text({8.347, -1}, 2), "seed by seed 8.35 -1.00");
}

TEST(Gaps, AnOpenEndStaysOpenInIt) {
  Effect open = kBehind;
  open.bounded_above = 1;  // the better arm of a pair diverged
  open.finish(.05);
  EXPECT_EQ(shared_alpha_text(open, .05, 2), ", which with alpha shared by 2 is open .. 0.018");
  EXPECT_EQ(shared_alpha_text(open, .05, 2, -1),
            ", which with alpha shared by 2 is -0.018 .. open");
}

// One gap on the wrong side is enough to deny the claim, whatever the others need to be found.
TEST(Gaps, PairsOfAGapOnTheWrongSideAreThoseOfTheSharedAlphaAndSettleItAlone) {
  std::vector<std::optional<PairsNeeded>> needed;
  add_pairs_needed(needed, kBehind, .05, 2);
  ASSERT_TRUE(needed.front().has_value());
  const int of_behind = needed.front()->n;
  EXPECT_EQ(of_behind, pairs_needed(kBehind.mean, kBehind.s, .05 / 2));
  EXPECT_GT(of_behind, pairs_needed(kBehind.mean, kBehind.s, .05));
  add_pairs_needed(needed, gap_of({.1, -.09, .02}), .05, 2);
  ASSERT_GT(needed.back()->n, of_behind);
  EXPECT_EQ(most_pairs(needed)->n, of_behind);
  EXPECT_EQ(pairs_needed_text(most_pairs(needed)), "; if the effect is as large as measured, " +
                                                       std::to_string(of_behind) +
                                                       " pairs would settle it with 80 % power");
  needed.emplace_back();  // nor does one that nothing settles hinder it
  EXPECT_EQ(most_pairs(needed)->n, of_behind);
}

TEST(Gaps, OfSeveralOnTheRightSideTheMostPairsAreTheLeastThatAreNeeded) {
  std::vector<std::optional<PairsNeeded>> needed;
  add_pairs_needed(needed, gap_of({.1, -.09, .02}), .05, 2);
  add_pairs_needed(needed, gap_of({.1, -.05, .02}), .05, 2);
  EXPECT_NE(pairs_needed_text(most_pairs(needed)).find("measured, at least "), std::string::npos);
}

TEST(MorePairs, NoneCloseAnEndThatBoundsHaveOpened) {
  Effect ahead{.values = {.1, .2, .3}}, bounded = ahead, open = ahead;
  bounded.bounded_below = 1;  // ">=": its low end stays an end
  open.bounded_above = 1;
  for (Effect* effect : {&ahead, &bounded, &open}) effect->finish(.05);
  EXPECT_TRUE(more_pairs(ahead, .2, .05).has_value());
  EXPECT_TRUE(more_pairs(bounded, .2, .05).has_value());
  EXPECT_FALSE(more_pairs(open, .2, .05).has_value());
  EXPECT_NE(pairs_needed_text(more_pairs(open, .2, .05)).find("no number of pairs"),
            std::string::npos);
  EXPECT_EQ(most_pairs({PairsNeeded{3}, PairsNeeded{7}, PairsNeeded{5}})->n, 7);
  EXPECT_FALSE(most_pairs({PairsNeeded{3}, std::nullopt}).has_value());
}

TEST(MorePairs, OfBoundsAreThoseOfTheLossesAtEqualBudget) {
  // Five bounds of "<= 1" have no spread, and 0 as their mean: no number of such would be enough.
  Effect effect{.values = {0, 0, 0, 0, 0}, .bounded_above = 5};
  effect.finish(.05);
  effect.equal_budget_values = {-.020, -.001, .002, -.018, -.013};
  effect.equal_budget = t_interval(effect.equal_budget_values, .05);
  ASSERT_GT(effect.equal_budget->high, 0);
  EXPECT_EQ(more_pairs(effect, std::log(1.4), .05)->n,
            pairs_needed(-.010, sample_sd(effect.equal_budget_values), .05));
  for (double& gain : effect.equal_budget_values) gain = -gain;  // ahead, with an open lower end
  effect.equal_budget = t_interval(effect.equal_budget_values, .05);
  EXPECT_FALSE(more_pairs(effect, std::log(1.4), .05).has_value());
}

TEST(MorePairs, WhereTheBoundsExcludeTheSizeTheLossesCanSettleTheRest) {
  Effect effect{.values = {.02, -.05, .1, .03, 0}, .bounded_above = 2};
  effect.finish(.05);
  effect.equal_budget_values = {.02, .001, -.004, .018, .009};
  effect.equal_budget = t_interval(effect.equal_budget_values, .05);
  ASSERT_LT(effect.equal_budget->low, 0);
  EXPECT_EQ(
      more_pairs(effect, std::log(1.4), .05)->n,
      pairs_needed(mean(effect.equal_budget_values), sample_sd(effect.equal_budget_values), .05));
  EXPECT_FALSE(more_pairs(effect, std::log(1.05), .05).has_value());  // a size that they leave open
  // The losses show the direction: what is left is to exclude the size.
  effect.equal_budget = Interval{.001, .02};
  EXPECT_EQ(more_pairs(effect, .06, .05)->n, pairs_needed(.06 - effect.mean, effect.s, .05));
}

}  // namespace
}  // namespace normbench
