// Power laws: the fits against data whose law is known, and against the coefficients that the anGPT
// paper prints for its own points.
#include <gtest/gtest.h>

#include <cmath>

#include "suite/base/record_digest.h"
#include "suite/judge/power_law.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::World;

TEST(PowerLaw, BothFitsFindAnExactLaw) {
  std::vector<double> x, y;
  for (double v = 1; v < 1e20; v *= 17) x.push_back(v), y.push_back(28.4 * std::pow(v, -.053));
  for (const PowerLaw& law : {fit_in_logs(x, y), fit_values(x, y)}) {
    EXPECT_NEAR(law.factor, 28.4, 1e-10);
    EXPECT_NEAR(law.exponent, -.053, 1e-12);
    EXPECT_NEAR(law.exponent_interval(.05).high, -.053, 1e-12);
  }
}

TEST(PowerLaw, ErrorsAreThoseOfTheTextbook) {
  // ln y = ln x with residuals (+d, -2d, +d) at ln x = -1, 0, 1: slope 1, s^2 = 6 d^2 / 1, error of
  // the slope s / sqrt(2), of the constant s / sqrt(3) (Draper & Smith, Applied regression
  // analysis, 1.4).
  const double d = .01;
  const PowerLaw law = fit_in_logs({std::exp(-1), 1, std::exp(1)},
                                   {std::exp(-1 + d), std::exp(-2 * d), std::exp(1 + d)});
  EXPECT_NEAR(law.exponent, 1, 1e-14);
  EXPECT_NEAR(law.factor, 1, 1e-14);
  EXPECT_NEAR(law.exponent_error, d * std::sqrt(3), 1e-14);
  EXPECT_NEAR(law.log_factor_error, d * std::sqrt(2), 1e-14);
  // t with 1 degree of freedom at .975 is 12.7062.
  EXPECT_NEAR(law.exponent_interval(.05).high - 1, 12.7062 * d * std::sqrt(3), 1e-5);
}

TEST(PowerLaw, ThatOfTheValuesMinimisesTheirSquares) {
  const std::vector<double> x = {1, 2, 4, 8, 16}, y = {1.1, 1.9, 4.3, 7.7, 16.4};
  const PowerLaw law = fit_values(x, y);
  const auto rest = [&](double factor, double exponent) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += std::pow(y[i] - factor * std::pow(x[i], exponent), 2);
    return sum;
  };
  for (const double df : {-1e-4, 0.0, 1e-4})
    for (const double de : {-1e-4, 0.0, 1e-4}) {
      if (df == 0 && de == 0) continue;
      EXPECT_GT(rest(law.factor + df, law.exponent + de), rest(law.factor, law.exponent));
    }
  EXPECT_GT(rest(fit_in_logs(x, y).factor, fit_in_logs(x, y).exponent),
            rest(law.factor, law.exponent));
}

TEST(PowerLaw, TheIntervalCoversTheTruthAsOftenAsItSays) {
  // 2000 laws with normal noise from sums of 12 uniforms of a linear congruential generator.
  uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> x, y;
    for (int i = 0; i < 8; ++i) {
      double noise = -6;
      for (int k = 0; k < 12; ++k) noise += uniform();
      x.push_back(std::pow(3.0, i));
      y.push_back(5 * std::pow(x.back(), -.1) * std::exp(.02 * noise));
    }
    const Interval interval = fit_values(x, y).exponent_interval(.05);
    covered += interval.low <= -.1 && interval.high >= -.1;
  }
  EXPECT_NEAR(covered / 2000.0, .95, .02);  // 4 standard errors of a share of .95 in 2000: .0195
}

TEST(Frontier, KeepsWhatNoCheaperRunBeats) {
  const auto kept = frontier({{1e18, 3.0, 1, 10},
                              {2e18, 2.9, 2, 10},
                              {4e18, 2.95, 4, 10},     // dearer and worse
                              {4.001e18, 2.8, 1, 40},  // in one bin with the last of 100
                              {8e18, 2.7, 2, 40}},
                             100);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[2].parameters, 40);
  EXPECT_EQ(frontier({}, 10).size(), 0u);
  EXPECT_EQ(frontier({{1e18, 3.0, 1, 10}, {1e18, 2.0, 1, 20}}).front().loss, 2.0);
}

// The paper's own fits (Figure 4, Table J.1) from its final losses, which were digitized to
// +-.0005. `achieved` is what is left between the fit and the printed number, rounded up. Figure 4
// agrees to half a printed digit and .15 % of the factor. Table J.1 agrees to .0005 in the
// exponents but for the N of anGPT: .0024, and 10 % of its factor. That is not rounding of losses:
// without the one point at 3.2e18 FLOP (127M, 2x) anGPT gives .4729 and .4516. Our guess, which
// nothing here can prove: the paper takes the minimum over whole training curves, which it does not
// print; final losses cannot tell which of two runs of almost equal cost was ahead.
struct Printed {
  const char *arm, *law, *pointer;
  double achieved;
};
const Printed kPrinted[] = {
    {"gpt_plus", "loss_of_compute", "/scaling_fit/loss_over_compute/gpt_plus/exponent", .0006},
    {"gpt_plus", "loss_of_compute", "/scaling_fit/loss_over_compute/gpt_plus/factor", .05},
    {"angpt", "loss_of_compute", "/scaling_fit/loss_over_compute/angpt/exponent", .0003},
    {"angpt", "loss_of_compute", "/scaling_fit/loss_over_compute/angpt/factor", .005},
    {"gpt_plus", "tokens_of_compute", "/scaling_fit/table_j1/gpt_plus/aD", .0004},
    {"gpt_plus", "tokens_of_compute", "/scaling_fit/table_j1/gpt_plus/D0", .2},
    {"gpt_plus", "parameters_of_compute", "/scaling_fit/table_j1/gpt_plus/aN", .0004},
    {"gpt_plus", "parameters_of_compute", "/scaling_fit/table_j1/gpt_plus/N0", .006},
    {"angpt", "tokens_of_compute", "/scaling_fit/table_j1/angpt/aD", .0005},
    {"angpt", "tokens_of_compute", "/scaling_fit/table_j1/angpt/D0", .22},
    {"angpt", "parameters_of_compute", "/scaling_fit/table_j1/angpt/aN", .0024},
    {"angpt", "parameters_of_compute", "/scaling_fit/table_j1/angpt/N0", .07},
};

Json fit_of(const Printed& printed, double tolerance) {
  return {{"rule", "scaling_fit"},
          {"points", std::string("/validation_loss/*/") + printed.arm},
          {"law", printed.law},
          {"published", printed.pointer},
          {"tolerance", tolerance}};
}

TEST(ScalingFit, GivesTheCoefficientsThatThePaperPrints) {
  World world;
  world.input.published = read_json(NORMBENCH_SOURCE_DIR "/baselines/published/angpt.json");
  for (const auto& printed : kPrinted) {
    const Verdict verdict = world.judge(fit_of(printed, printed.achieved), "published points");
    EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << printed.pointer << " " << verdict.reason;
    EXPECT_EQ(verdict.planned_pairs, 28);
    // What was achieved is not rounded up at will.
    EXPECT_EQ(name(world.judge(fit_of(printed, .7 * printed.achieved), "published points").outcome),
              "NOT_REPRODUCED")
        << printed.pointer;
  }
}

TEST(ScalingFit, AFitInLogsIsNotThePapers) {
  World world;
  world.input.published = read_json(NORMBENCH_SOURCE_DIR "/baselines/published/angpt.json");
  const Verdict verdict = world.judge(fit_of(kPrinted[4], .0004), "published points");
  EXPECT_GT(verdict.detail["in_logs"]["exponent"].get<double>(), .53);  // printed: .4663
}

TEST(ScalingFit, IsReadStrictly) {
  JudgeInput input = testing::synthetic_input({});
  input.published = read_json(NORMBENCH_SOURCE_DIR "/baselines/published/angpt.json");
  const Json good = fit_of(kPrinted[0], .01);
  EXPECT_EQ(claim_error(input, good), "");
  Json claim = good;
  claim["arm"] = "angpt";
  EXPECT_NE(claim_error(input, claim).find("either"), std::string::npos);
  claim.erase("points");
  EXPECT_EQ(claim_error(input, claim), "");
  claim["arm"] = "angtp";
  EXPECT_NE(claim_error(input, claim).find("did you mean \"angpt\"?"), std::string::npos);
  claim = good;
  claim["points"] = "/validation_loss/*/nobody";
  EXPECT_NE(claim_error(input, claim).find("too few published points"), std::string::npos);
  claim["points"] = "/validation_loss/*/ngpt";
  EXPECT_NE(claim_error(input, claim).find("without parameters"), std::string::npos);
  claim = good;
  claim["law"] = "loss_of_tokens";
  EXPECT_NE(claim_error(input, claim).find("unknown law"), std::string::npos);
}

// Own runs: sizes of width w with 12 w^2 parameters beside 2 V w of embedding and head, whose
// losses are 20 C^-.05 where tokens are 20 per parameter, and worse elsewhere.
struct ScalingWorld : World {
  ScalingWorld() : World(testing::SyntheticOptions{.budgets = {65536, 131072}, .seeds = {1, 2}}) {
    input.datasets.clear();
    input.runs.clear();
    input.peak_lr_source = "Figure G.1";
    input.sweep_runs.clear();
    for (const int64_t width : {64, 128, 256, 512}) {
      const double parameters = static_cast<double>(12 * width * width + 2 * 512 * width),
                   embedding = static_cast<double>(512 * width), rest = parameters - embedding;
      const std::string setting = "w" + std::to_string(width);
      input.datasets.push_back(setting);
      for (const double per_parameter : {10, 20, 40})
        for (const int64_t seed : {1, 2}) {
          const int64_t tokens = std::llround(rest * per_parameter / 65536) * 65536 + 65536;
          RunRef run{"", "", "angpt", setting, tokens, seed, .01};
          Json config = testing::synthetic_config(run);
          config["size"] = {{"width", width}, {"vocabulary", 512}};
          run.run_id = run_id_of(config);
          run.name = setting + " " + std::to_string(tokens) + " " + std::to_string(seed);
          options.truth = [&](const RunRef&, double) {
            const double compute = 6 * rest * static_cast<double>(tokens);
            return 20 * std::pow(compute, -.05) + .001 * static_cast<double>(seed) +
                   .02 * std::abs(std::log(per_parameter / 20));
          };
          testing::write_record(folder.path(), run, options, {.manifest = [&](Json& manifest) {
                                  manifest["config"] = config;
                                  manifest["parameters"] = parameters;
                                }});
          input.runs.push_back(run);
        }
    }
  }
  Json claim(double value, double tolerance, const std::string& unit = "exponent") {
    publish(value, unit);
    return {{"rule", "scaling_fit"},
            {"arm", "angpt"},
            {"law", "loss_of_compute"},
            {"published", "/number"},
            {"tolerance", tolerance}};
  }
};

TEST(ScalingFit, OfOwnRunsOverAllSettings) {
  ScalingWorld world;
  const Verdict verdict = world.judge(world.claim(-.05, .02), "all settings");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(verdict.planned_pairs, 12);
  EXPECT_NEAR(*verdict.estimate, -.05, .005);
  EXPECT_EQ(name(world.judge(world.claim(-.2, .02), "all settings").outcome), "DIRECTION_ONLY");
  EXPECT_EQ(name(world.judge(world.claim(.2, .02), "all settings").outcome), "NOT_REPRODUCED");
  EXPECT_EQ(name(world.judge(world.claim(-.05, 1e-6), "all settings").outcome), "INCONCLUSIVE");
  world.input.peak_lr_source.clear();
  EXPECT_EQ(name(world.judge(world.claim(-.05, .02), "all settings").outcome), "BASELINE_UNTUNED");
  std::filesystem::remove_all(world.folder.path(world.input.runs.front().run_id));
  EXPECT_EQ(name(world.judge(world.claim(-.05, .02), "all settings").outcome), "NOT_RUN");
}

}  // namespace
}  // namespace normbench
