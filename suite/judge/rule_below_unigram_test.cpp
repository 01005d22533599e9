// Losses against the unigram entropy of their tokens, on invented records: at the longest budget
// angpt has about 2.45 nats (1.7 + 690 (1.35 D)^-.42 at 8.39 M).
#include <gtest/gtest.h>

#include <algorithm>

#include "suite/judge/ledger.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::World;

Json below() { return {{"rule", "below_unigram"}, {"challenger", "angpt"}}; }

TEST(BelowUnigram, EverySeedMustBeBelow) {
  World world;
  world.input.unigram_entropy_nats = {{"t", 3.0}};
  const Verdict verdict = world.judge(below());
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(verdict.pairs, 5);
  double highest = 0;
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.token_budget == 8388608)
      highest = std::max(highest, testing::synthetic_loss(world.options, run));
  EXPECT_EQ(verdict.estimate, highest);
  EXPECT_FALSE(verdict.low || verdict.high);  // the interval of the mean need not hold the highest
  EXPECT_EQ(verdict.paper["value"], 3.0);
  EXPECT_NE(ledger_text(judge_table(world.input, world.folder.path(), "")).find("< 3.000"),
            std::string::npos);
  // Between the lowest and the highest loss, and below all: neither will do.
  world.input.unigram_entropy_nats["t"] = *verdict.estimate;
  EXPECT_EQ(name(world.judge(below()).outcome), "NOT_REPRODUCED");
  world.input.unigram_entropy_nats["t"] = 2.0;
  EXPECT_EQ(name(world.judge(below()).outcome), "NOT_REPRODUCED");
}

TEST(BelowUnigram, ADivergedRunIsNotBelow) {
  World world;
  world.input.unigram_entropy_nats = {{"t", 3.0}};
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed == 2 && run.token_budget == 8388608)
      testing::write_record(world.folder.path(), run, world.options, {.diverged = true});
  EXPECT_EQ(name(world.judge(below()).outcome), "NOT_REPRODUCED");
}

TEST(BelowUnigram, AnUnknownEntropyIsNotTestedAndOneSeedDecidesNothing) {
  World world;
  const Verdict unknown = world.judge(below());
  EXPECT_EQ(name(unknown.outcome), "INCONCLUSIVE");
  EXPECT_NE(unknown.reason.find("Not tested"), std::string::npos) << unknown.reason;
  world.input.unigram_entropy_nats = {{"of other tokens", 3.0}};
  EXPECT_EQ(name(world.judge(below()).outcome), "INCONCLUSIVE");
  testing::SyntheticOptions options;
  options.seeds = {1};
  World one(options);
  one.input.unigram_entropy_nats = {{"t", 3.0}};
  EXPECT_EQ(name(one.judge(below()).outcome), "INCONCLUSIVE");
}

TEST(BelowUnigram, IsReadStrictly) {
  const JudgeInput input = testing::synthetic_input({});
  EXPECT_EQ(claim_error(input, below()), "");
  Json claim = below();
  claim["reference"] = "gpt_plus";
  EXPECT_NE(claim_error(input, claim).find("reference"), std::string::npos);
  claim = below();
  claim["challenger"] = "angtp";
  EXPECT_NE(claim_error(input, claim).find("did you mean \"angpt\"?"), std::string::npos);
}

}  // namespace
}  // namespace normbench
