// Power laws against the coefficients that the anGPT paper prints for its own points, and of our
// own runs.
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

// The paper's own fits from its final losses, 28 an arm, digitized to +-.0005. What the printed
// digits and the rounding of the points allow is computed here, not chosen:
//   tolerance = half a unit of the last printed digit
//             + the largest move of the fit over 200 draws of all losses within their +-.0005
// Figure 4 (three decimals; one decimal of the factor) is given back within that:
//   GPT+   -.055504 for -.056 (.0005 + .00004),   32.557 for 32.6 (.05 + .06)
//   anGPT  -.052732 for -.053 (.0005 + .00003),   28.396 for 28.4 (.05 + .04)
// Table J.1 is not. It prints six decimals, rounding moves nothing (the same runs stay the best of
// their bins, and tokens and parameters are exact), and the fits stay away by
//   GPT+   .0003 and .0004 in the exponents of D and N, 1.3 % and 1.6 % in their factors
//   anGPT  .0005 and .0024, 2.2 % and 10 %
// Single points matter: without 127M at 2x, 3.2e18 FLOP, anGPT gives .47293 and .45163 for .473190
// and .451378. Our guess, which nothing here can prove: the paper takes the minimum over whole
// training curves, which it does not print; final losses cannot tell which of two runs of almost
// equal cost was ahead.
struct Printed {
  const char *arm, *law, *pointer;
  double last_digit;  // one unit of it
  double here;        // Table J.1: what is found in its place, six digits
};
const Printed kFigure4[] = {
    {"gpt_plus", "loss_of_compute", "/scaling_fit/loss_over_compute/gpt_plus/exponent", .001, 0},
    {"gpt_plus", "loss_of_compute", "/scaling_fit/loss_over_compute/gpt_plus/factor", .1, 0},
    {"angpt", "loss_of_compute", "/scaling_fit/loss_over_compute/angpt/exponent", .001, 0},
    {"angpt", "loss_of_compute", "/scaling_fit/loss_over_compute/angpt/factor", .1, 0},
};
const Printed kTableJ1[] = {
    {"gpt_plus", "tokens_of_compute", "/scaling_fit/table_j1/gpt_plus/aD", 1e-6, .465970},
    {"gpt_plus", "tokens_of_compute", "/scaling_fit/table_j1/gpt_plus/D0", 1e-6, 13.5886},
    {"gpt_plus", "parameters_of_compute", "/scaling_fit/table_j1/gpt_plus/aN", 1e-6, .465960},
    {"gpt_plus", "parameters_of_compute", "/scaling_fit/table_j1/gpt_plus/N0", 1e-6, .331239},
    {"angpt", "tokens_of_compute", "/scaling_fit/table_j1/angpt/aD", 1e-6, .473664},
    {"angpt", "tokens_of_compute", "/scaling_fit/table_j1/angpt/D0", 1e-6, 9.51440},
    {"angpt", "parameters_of_compute", "/scaling_fit/table_j1/angpt/aN", 1e-6, .453739},
    {"angpt", "parameters_of_compute", "/scaling_fit/table_j1/angpt/N0", 1e-6, .583167},
};

Json published_angpt() { return read_json(NORMBENCH_SOURCE_DIR "/baselines/published/angpt.json"); }

Json fit_of(const Printed& printed, double tolerance) {
  return {{"rule", "scaling_fit"},
          {"points", std::string("/validation_loss/*/") + printed.arm},
          {"law", printed.law},
          {"published", printed.pointer},
          {"tolerance", tolerance}};
}

// The same number as the rule's, without a claim around it: for many draws.
double fit(const Json& published, const Printed& printed) {
  std::vector<ScalingPoint> points;
  for (const auto& size : published.at("validation_loss"))
    for (const auto& p : size.value(printed.arm, Json::array()))
      points.push_back(
          {6 * (p["parameters"].get<double>() - p["embedding_parameters"].get<double>()) *
               p["tokens"].get<double>(),
           p["value"], p["tokens"], p["parameters"]});
  std::vector<double> x, y;
  const std::string law = printed.law;
  for (const auto& point : frontier(points)) {
    x.push_back(point.compute);
    y.push_back(law == "loss_of_compute"     ? point.loss
                : law == "tokens_of_compute" ? point.tokens
                                             : point.parameters);
  }
  const PowerLaw found = fit_values(x, y);
  const Json unit = published.at(Json::json_pointer(printed.pointer)).at("unit");
  return unit == "exponent" ? found.exponent : found.factor;
}

// Every point, moved within its rounding; uniform numbers of a linear congruential generator.
Json redrawn(Json points, uint64_t& state) {
  for (auto& point : points) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state >> 11) / 9007199254740992.0;
    point["value"] =
        point["value"].get<double>() + (2 * uniform - 1) * point["uncertainty"].get<double>();
  }
  return points;
}

Json redrawn(Json published, const std::string& arm, uint64_t& state) {
  for (auto& size : published["validation_loss"])
    if (size.contains(arm)) size[arm] = redrawn(size[arm], state);
  return published;
}

// How far the rounding of the points can move the fit.
double move_by_rounding(const Json& published, const Printed& printed) {
  const double as_digitized = fit(published, printed);
  uint64_t state = 1;
  double most = 0;
  for (int draw = 0; draw < 200; ++draw)
    most = std::max(most,
                    std::abs(fit(redrawn(published, printed.arm, state), printed) - as_digitized));
  return most;
}

TEST(ScalingFit, GivesWhatFigure4PrintsWithinItsDigits) {
  const Json published = published_angpt();
  for (const auto& printed : kFigure4) {
    const double tolerance = printed.last_digit / 2 + move_by_rounding(published, printed);
    World world;
    world.input.published = published;
    const Verdict verdict = world.judge(fit_of(printed, tolerance), "published points");
    EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << printed.pointer << " " << verdict.reason;
    EXPECT_EQ(verdict.planned_pairs, 28);
    EXPECT_EQ(*verdict.estimate, fit(published, printed));
    // Two units of the last digit to either side would not do: the tolerance says something.
    Json& value = world.input.published[Json::json_pointer(printed.pointer)]["value"];
    const double as_printed = value.get<double>();
    for (const int units : {-2, 2}) {
      value = as_printed + units * printed.last_digit;
      EXPECT_EQ(name(world.judge(fit_of(printed, tolerance), "published points").outcome),
                "NOT_REPRODUCED")
          << printed.pointer << " " << units;
    }
  }
}

TEST(ScalingFit, DoesNotGiveTableJ1WithinItsDigitsAndSaysHowFarItIs) {
  const Json published = published_angpt();
  for (const auto& printed : kTableJ1) {
    const double moved = move_by_rounding(published, printed);
    EXPECT_EQ(moved, 0) << printed.pointer;
    World world;
    world.input.published = published;
    const Verdict verdict =
        world.judge(fit_of(printed, printed.last_digit / 2 + moved), "published points");
    EXPECT_EQ(name(verdict.outcome), "NOT_REPRODUCED") << printed.pointer << " " << verdict.reason;
    // Six significant digits are written above: half a unit of the sixth is 5e-6 of the value or
    // less.
    EXPECT_NEAR(*verdict.estimate, printed.here, 5e-6 * printed.here) << printed.pointer;
  }
}

TEST(ScalingFit, OnePointDecidesTheLastDigitsOfTableJ1) {
  Json published = published_angpt();
  Json& points = published["validation_loss"]["127M"]["angpt"];
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i]["tokens"] == 5242800000) points.erase(i);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_NEAR(fit(published, kTableJ1[4]), .472933, 5e-7);
  EXPECT_NEAR(fit(published, kTableJ1[6]), .451628, 5e-7);
}

TEST(ScalingFit, AFitInLogsIsNotThePapers) {
  World world;
  world.input.published = published_angpt();
  const Verdict verdict = world.judge(fit_of(kTableJ1[0], .0004), "published points");
  EXPECT_GT(verdict.detail["in_logs"]["exponent"].get<double>(), .53);  // printed: .4663
}

// Figure 2: best batch and best rate against all parameters N, five points each, read to the digits
// of the file. Printed, here by least squares of the logarithms, and the tolerances as above:
//   anGPT  batch  1.1e-6 N^.984,  R2 .974   1.094e-6 N^.9855,  .976   1.8e-7, .0069, .0028
//          rate   .065 N^-.178,   R2 .659   .0602 N^-.1738,    .633   .011,   .0101, .0568
//   GPT+   batch  9e-5 N^.729,    R2 .827   7.95e-5 N^.7359,   .826   1.7e-5, .0090, .0051
//          rate   42 N^-.482,     R2 .783   40.3 N^-.4796,     .778   6.6,    .0086, .0108
// The rounding of the points is most of each tolerance. Readings whose exponents fall outside: N
// without the input embedding (.859, -.152, .647, -.416), least squares of the values (.911, -.193,
// .491, -.491).
struct PrintedOptimum {
  const char *law, *series;
  double factor_digit, exponent_digit, r_squared_digit;  // one unit of the last
};
const PrintedOptimum kFigure2[] = {
    {"batch_of_parameters", "/scaling_fit/batch_and_rate/angpt/batch", 1e-7, .001, .001},
    {"rate_of_parameters", "/scaling_fit/batch_and_rate/angpt/peak_lr", .001, .001, .001},
    {"batch_of_parameters", "/scaling_fit/batch_and_rate/gpt_plus/batch", 1e-5, .001, .001},
    {"rate_of_parameters", "/scaling_fit/batch_and_rate/gpt_plus/peak_lr", 1, .001, .001},
};

// What a series prints, or what is found through its points.
struct Optimum {
  double factor = 0, exponent = 0, r_squared = 0;
};

Optimum fit_optimum(const Json& points) {
  std::vector<double> x, y;
  for (const auto& point : points) {
    x.push_back(point["parameters"].get<double>());
    y.push_back(point["value"].get<double>());
  }
  const PowerLaw law = fit_in_logs(x, y);
  return {law.factor, law.exponent, r_squared_in_logs(law, x, y)};
}

// The digit rule, of all three numbers.
Optimum tolerances(const Json& points, const PrintedOptimum& printed) {
  const Optimum as_digitized = fit_optimum(points);
  Optimum most;
  uint64_t state = 1;
  for (int draw = 0; draw < 200; ++draw) {
    const Optimum moved = fit_optimum(redrawn(points, state));
    most.factor = std::max(most.factor, std::abs(moved.factor - as_digitized.factor));
    most.exponent = std::max(most.exponent, std::abs(moved.exponent - as_digitized.exponent));
    most.r_squared = std::max(most.r_squared, std::abs(moved.r_squared - as_digitized.r_squared));
  }
  return {printed.factor_digit / 2 + most.factor, printed.exponent_digit / 2 + most.exponent,
          printed.r_squared_digit / 2 + most.r_squared};
}

Verdict judge_optimum(World& world, const PrintedOptimum& printed, const std::string& number,
                      double tolerance) {
  const std::string series = printed.series;
  return world.judge({{"rule", "scaling_fit"},
                      {"points", series + "/points"},
                      {"law", printed.law},
                      {"published", series + "/" + number},
                      {"tolerance", tolerance}},
                     "published points");
}

TEST(ScalingFit, GivesWhatFigure2PrintsWithinItsDigits) {
  World world;
  world.input.published = published_angpt();
  for (const auto& printed : kFigure2) {
    const Json series = world.input.published.at(Json::json_pointer(printed.series));
    const Optimum found = fit_optimum(series["points"]),
                  tolerance = tolerances(series["points"], printed);
    const Verdict factor = judge_optimum(world, printed, "factor", tolerance.factor),
                  exponent = judge_optimum(world, printed, "exponent", tolerance.exponent);
    EXPECT_EQ(name(factor.outcome), "REPRODUCED") << printed.series << " " << factor.reason;
    EXPECT_EQ(name(exponent.outcome), "REPRODUCED") << printed.series << " " << exponent.reason;
    EXPECT_EQ(exponent.planned_pairs, 5);
    EXPECT_EQ(*factor.estimate, found.factor);
    EXPECT_EQ(*exponent.estimate, found.exponent);
    EXPECT_EQ(exponent.detail["r_squared"].get<double>(), found.r_squared);
    EXPECT_NEAR(found.r_squared, series["r_squared"]["value"].get<double>(), tolerance.r_squared)
        << printed.series;
  }
}

// A point read a quarter too high moves one of the numbers past its tolerance. The third size
// stands at the mean of ln N, where a point cannot turn the law: R2 alone shows it.
TEST(ScalingFit, AChangedPointOfFigure2IsNoticed) {
  for (const auto& printed : kFigure2) {
    World world;
    world.input.published = published_angpt();
    Json& series = world.input.published[Json::json_pointer(printed.series)];
    const Json as_digitized = series["points"];
    const Optimum tolerance = tolerances(as_digitized, printed);
    for (size_t i = 0; i < as_digitized.size(); ++i) {
      series["points"] = as_digitized;
      series["points"][i]["value"] = 1.25 * as_digitized[i]["value"].get<double>();
      const Verdict exponent = judge_optimum(world, printed, "exponent", tolerance.exponent);
      const std::string expected = i == 2 ? "REPRODUCED" : "NOT_REPRODUCED";
      EXPECT_EQ(name(exponent.outcome), expected) << printed.series << " " << i;
      EXPECT_EQ(name(judge_optimum(world, printed, "factor", tolerance.factor).outcome), expected)
          << printed.series << " " << i;
      if (i == 2) {
        EXPECT_GT(std::abs(exponent.detail["r_squared"].get<double>() -
                           series["r_squared"]["value"].get<double>()),
                  tolerance.r_squared)
            << printed.series;
      }
    }
  }
}

TEST(ScalingFit, IsReadStrictly) {
  JudgeInput input = testing::synthetic_input({});
  input.published = published_angpt();
  const Json good = fit_of(kFigure4[0], .01);
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
  const std::string batch = "/scaling_fit/batch_and_rate/angpt/batch";
  claim = good;
  claim["points"] = batch + "/points";
  EXPECT_NE(claim_error(input, claim).find("without tokens"), std::string::npos);
  claim["law"] = "rate_of_parameters";
  EXPECT_NE(claim_error(input, claim).find("not a point of law rate_of_parameters"),
            std::string::npos);
  claim["law"] = "batch_of_parameters";
  claim["published"] = "/scaling_fit/batch_and_rate/angpt/peak_lr/factor";
  EXPECT_NE(claim_error(input, claim).find("cannot read the published unit"), std::string::npos);
  claim["published"] = batch + "/factor";
  EXPECT_EQ(claim_error(input, claim), "");
  claim.erase("points");
  claim["arm"] = "angpt";
  EXPECT_NE(claim_error(input, claim).find("published points alone"), std::string::npos);
  claim = good;
  claim["published"] = "/percent";
  input.published["percent"] = {{"value", 3}, {"unit", "percent"}};
  EXPECT_NE(claim_error(input, claim).find("cannot read the published unit"), std::string::npos);
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

TEST(ScalingFit, APlaceWithADivergedRunIsNoPoint) {
  ScalingWorld world;
  const auto judged = [&] { return world.judge(world.claim(-.05, .02), "all settings"); };
  ASSERT_EQ(judged().planned_pairs, 12);
  const RunRef& run = world.input.runs.front();
  const std::string file = world.folder.path(run.run_id + "/manifest.json");
  const Json manifest = read_json(file);
  world.options.truth = {};
  testing::write_record(world.folder.path(), run, world.options,
                        {.manifest = [&](Json& again) { again = manifest; }, .diverged = true});
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.planned_pairs, 11) << verdict.reason;
  EXPECT_EQ(verdict.diverged.size(), 1u);
}

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
