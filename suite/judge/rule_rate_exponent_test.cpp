// How the best rate moves with width and budget, on invented sweeps whose law is known.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "suite/base/record_digest.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::World;

using BestRate = std::function<double(double width, double tokens, int64_t seed)>;

// Widths 64, 96, 128 at 65,536 and 262,144 tokens, seven rates around .02 in steps of sqrt(2).
struct RateWorld : World {
  explicit RateWorld(const BestRate& best, std::vector<int64_t> seeds = {100, 101, 102},
                     bool whole = true)
      : World(testing::SyntheticOptions{.budgets = {65536, 262144}, .seeds = {1, 2}}) {
    input.datasets.clear();
    input.runs.clear();
    input.sweep_runs.clear();
    for (const int64_t width : {64, 96, 128}) {
      const std::string setting = "w" + std::to_string(width);
      input.datasets.push_back(setting);
      for (const int64_t tokens : {65536, 262144})
        for (const int64_t seed : seeds)
          for (int step = -3; step <= 3; ++step) {
            if (!whole && width == 96 && tokens == 65536) continue;
            RunRef run{"", "", "angpt", setting, tokens, seed, .02 * std::exp2(step / 2.)};
            Json config = testing::synthetic_config(run);
            config["size"] = {{"width", width}};
            run.run_id = run_id_of(config);
            run.name = setting + " " + std::to_string(tokens) + " " + Json(run.peak_lr).dump() +
                       " " + std::to_string(seed);
            const double optimum =
                best(static_cast<double>(width), static_cast<double>(tokens), seed);
            options.truth = [=](const RunRef& r, double) {
              return 3 + .1 * std::pow(std::log2(r.peak_lr / optimum), 2) +
                     1e-4 * static_cast<double>(seed);
            };
            testing::write_record(folder.path(), run, options, {.manifest = [&](Json& manifest) {
                                    manifest["config"] = config;
                                  }});
            input.sweep_runs.push_back(run);
          }
    }
  }
  Verdict verdict_on(const std::string& of, double value, double tolerance) {
    publish(value, "exponent");
    return judge({{"rule", "rate_exponent"},
                  {"arm", "angpt"},
                  {"of", of},
                  {"published", "/number"},
                  {"tolerance", tolerance}},
                 "all settings");
  }
};

// Falls with the width as its root, not with the budget; seeds 2 % apart.
double root_of_width(double width, double, int64_t seed) {
  return .24 / std::sqrt(width) * (1 + .01 * static_cast<double>(seed - 101) * width / 96);
}

TEST(RateExponent, FindsThePowerOfTheWidthAndThatOfTheBudget) {
  RateWorld world(root_of_width);
  const Verdict width = world.verdict_on("width", -.5, .25);
  EXPECT_EQ(name(width.outcome), "REPRODUCED") << width.reason;
  EXPECT_NEAR(*width.estimate, -.5, .01);  // rates are rounded to 3 digits
  EXPECT_LT(*width.low, *width.estimate);
  EXPECT_EQ(width.pairs, 3);
  ASSERT_EQ(width.detail["by_seed"].size(), 3u);
  const Json& first = width.detail["by_seed"][1]["best"][0];
  EXPECT_EQ(first["setting"], "w128");
  EXPECT_NEAR(first["peak_lr"].get<double>(), .24 / std::sqrt(128.), 1e-4);
  const Verdict tokens = world.verdict_on("tokens", 0, .125);
  EXPECT_EQ(name(tokens.outcome), "REPRODUCED") << tokens.reason;
  EXPECT_NEAR(*tokens.estimate, 0, .01);
}

TEST(RateExponent, SaysNo) {
  RateWorld world(root_of_width);
  EXPECT_EQ(name(world.verdict_on("width", -1, .25).outcome), "DIRECTION_ONLY");
  EXPECT_EQ(name(world.verdict_on("width", .5, .25).outcome), "NOT_REPRODUCED");
  RateWorld falls([](double, double tokens, int64_t seed) {
    return .03 * std::pow(tokens / 65536, -.25) * (1 + .001 * static_cast<double>(seed - 101));
  });
  EXPECT_EQ(name(falls.verdict_on("tokens", 0, .125).outcome), "NOT_REPRODUCED");
}

TEST(RateExponent, SeedsThatDisagreeLeaveItOpen) {
  RateWorld world([](double width, double, int64_t seed) {
    return .02 * std::pow(width / 96, -.5 + .6 * static_cast<double>(seed - 101));
  });
  EXPECT_EQ(name(world.verdict_on("width", -.5, .25).outcome), "INCONCLUSIVE");
}

TEST(RateExponent, OneSeedStandsOnItsRegressionAndTwoBudgetsAlonePermitNone) {
  RateWorld world(root_of_width, {101});
  EXPECT_TRUE(world.verdict_on("width", -.5, .25).low.has_value());
  const Verdict tokens = world.verdict_on("tokens", 0, .125);
  EXPECT_EQ(name(tokens.outcome), "INCONCLUSIVE") << tokens.reason;
  EXPECT_FALSE(tokens.low.has_value());
}

TEST(RateExponent, AnOptimumOffTheGridIsUntuned) {
  RateWorld world([](double width, double, int64_t) { return width == 128 ? .1 : .02; });
  const Verdict verdict = world.verdict_on("width", -.5, .25);
  EXPECT_EQ(name(verdict.outcome), "BASELINE_UNTUNED") << verdict.reason;
  EXPECT_NE(verdict.reason.find("w128"), std::string::npos) << verdict.reason;
}

TEST(RateExponent, AGapInTheGridAndAMissingTrialGiveNoVerdict) {
  RateWorld holed(root_of_width, {100, 101, 102}, false);
  const Verdict verdict = holed.verdict_on("width", -.5, .25);
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_FALSE(verdict.estimate.has_value());
  RateWorld world(root_of_width);
  std::filesystem::remove_all(world.folder.path(world.input.sweep_runs.front().run_id));
  EXPECT_EQ(name(world.verdict_on("width", -.5, .25).outcome), "NOT_RUN");
}

TEST(RateExponent, RefusesAClaimThatItCannotJudge) {
  World world;
  world.publish(-.5, "exponent");
  Json claim{{"rule", "rate_exponent"},
             {"arm", "angpt"},
             {"of", "depth"},
             {"published", "/number"},
             {"tolerance", .25}};
  EXPECT_NE(claim_error(world.input, claim).find("unknown of"), std::string::npos);
  claim["of"] = "width";
  EXPECT_EQ(claim_error(world.input, claim), "");
  claim["tolerance"] = 0;
  EXPECT_NE(claim_error(world.input, claim), "");
  world.publish(2, "ratio");
  claim["tolerance"] = .25;
  EXPECT_NE(claim_error(world.input, claim).find("unit"), std::string::npos);
}

}  // namespace
}  // namespace normbench
