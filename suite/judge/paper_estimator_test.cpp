// Truth: baselines/published/angpt.json: losses digitized from Figures 3, H.2 and 4, and the
// speed-ups that the paper plots from them.
#include "suite/judge/paper_estimator.h"

#include <gtest/gtest.h>

#include "suite/base/json.h"

namespace normbench {
namespace {

const Json& published() {
  static const Json file = read_json(NORMBENCH_SOURCE_DIR "/baselines/published/angpt.json");
  return file;
}

LossCurve curve(const std::string& size, const std::string& arm) {
  LossCurve result;
  for (const auto& point : published()["validation_loss"][size][arm]) {
    result.tokens.push_back(point["tokens"].get<double>());
    result.loss.push_back(point["value"].get<double>());
  }
  return result;
}

// Compares at the challenger's budgets, as the knots have them; points may be fewer than budgets,
// because the paper's reference ends.
void expect_knots(const std::string& knots, const std::string& size, const std::string& challenger,
                  const std::string& reference, double tolerance) {
  const LossCurve ours = curve(size, challenger), theirs = curve(size, reference);
  int compared = 0;
  for (const auto& knot : published()["speed_up_knots"][knots])
    for (size_t i = 0; i < ours.tokens.size(); ++i) {
      if (std::abs(ours.tokens[i] / knot["tokens"].get<double>() - 1) > .02) continue;
      const auto point = paper_speed_up(theirs, knot["tokens"].get<double>(), ours.loss[i]);
      ASSERT_TRUE(point.has_value()) << knots << " " << i;
      EXPECT_NEAR(100 * (point->ratio - 1), knot["value"].get<double>(), tolerance)
          << knots << " at " << ours.tokens[i];
      ++compared;
    }
  EXPECT_EQ(compared, static_cast<int>(published()["speed_up_knots"][knots].size())) << knots;
}

// .3 points: a loss is digitized to +-.0005, of which .0001 is 0.1 points; the knots are printed to
// .1.
TEST(PaperEstimator, ReturnsTheKnotsOfThePaperAtHalfABillionParameters) {
  expect_knots("angpt_vs_gpt_plus_0.5B", "0.5B", "angpt", "gpt_plus", .3);
  expect_knots("ngpt_vs_gpt_plus_0.5B", "0.5B", "ngpt", "gpt_plus", .3);
  expect_knots("angpt_vs_gpt_plus_no_qk_norm_0.5B", "0.5B", "angpt", "gpt_plus_no_qk_norm", .3);
  expect_knots("ngpt_vs_gpt_plus_no_qk_norm_0.5B", "0.5B", "ngpt", "gpt_plus_no_qk_norm", .3);
}

TEST(PaperEstimator, ReturnsTheKnotsOfTheOtherSizes) {
  expect_knots("angpt_vs_gpt_plus_250M", "247M", "angpt", "gpt_plus", .3);
  // The budgets of the 1B reference are known less well: they are no multiples of a batch.
  expect_knots("angpt_vs_gpt_plus_1B", "1B", "angpt", "gpt_plus", .4);
}

TEST(PaperEstimator, ReturnsTheExtrapolatedFirstPointOfNgpt) {
  const LossCurve ngpt = curve("0.5B", "ngpt");
  const auto point =
      paper_speed_up(curve("0.5B", "gpt_plus"), ngpt.tokens.front(), ngpt.loss.front());
  ASSERT_TRUE(point && point->extrapolated);
  EXPECT_NEAR(100 * (point->ratio - 1), -16.4, .3);
}

// The headline is the uniform mean over D from 8 B tokens on. One point: 40.0 and 28.3 % are read
// from plotted curves with floor(D in B) steps.
TEST(PaperEstimator, ReturnsTheHeadlineMeans) {
  EXPECT_NEAR(*paper_headline(curve("0.5B", "gpt_plus"), curve("0.5B", "angpt"), 8e9), 1.400, .01);
  EXPECT_NEAR(*paper_headline(curve("0.5B", "gpt_plus"), curve("0.5B", "ngpt"), 8e9), 1.283, .01);
  // Two steps of the curve, of 1 B tokens each, at an end that is known to a step: .03.
  EXPECT_NEAR(*paper_headline(curve("0.5B", "gpt_plus_no_qk_norm"), curve("0.5B", "angpt"), 8e9),
              2.05, .03);
  EXPECT_NEAR(*paper_headline(curve("0.5B", "gpt_plus_no_qk_norm"), curve("0.5B", "ngpt"), 8e9),
              1.78, .03);
}

// The estimator must be able to disagree: swapped arms give no speed-up.
TEST(PaperEstimator, SwappedArmsGiveNoSpeedUp) {
  const auto headline = paper_headline(curve("0.5B", "angpt"), curve("0.5B", "gpt_plus"), 8e9);
  ASSERT_TRUE(headline.has_value());
  EXPECT_LT(*headline, .8);
}

}  // namespace
}  // namespace normbench
