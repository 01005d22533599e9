// Every task at small sizes: what its rows say, that they can say otherwise, and that they are a
// pure function of options and seed.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>

#include "suite/base/testing/interrupted.h"
#include "suite/measure/measure.h"
#include "suite/measure/series.h"

namespace normbench {
namespace {

Rows run(const std::string& task, const Json& options, uint64_t seed = 1) {
  at::set_num_threads(1);  // what a record says: bits do not hang on the machine's cores
  Rows rows;
  find_measure(task).run(JsonObject(options, "test"), seed, torch::kCPU, rows);
  return rows;
}

/// Slope of ln y on ln x over the rows whose columns have the values of `where`.
double slope(const Rows& rows, const std::string& x, const std::string& y, const Json& where) {
  std::vector<double> xs, ys;
  for (const auto& row : rows.rows()) {
    bool chosen = true;
    for (const auto& [column, value] : where.items()) chosen = chosen && row.at(column) == value;
    if (!chosen) continue;
    xs.push_back(row.at(x).get<double>());
    ys.push_back(row.at(y).get<double>());
  }
  return log_slope(xs, ys);
}

TEST(Registry, IsSortedAndItsOptionsAreComplete) {
  std::string last;
  for (const auto& entry : measure_registry()) {
    EXPECT_LT(last, entry.name);
    last = entry.name;
    std::set<std::string> names, canary;
    for (const auto& [key, value] : entry.default_options.items()) names.insert(key);
    for (const auto& [key, value] : entry.canary_options.items()) canary.insert(key);
    EXPECT_EQ(names, canary) << entry.name;
    EXPECT_FALSE(entry.what.empty());
  }
  EXPECT_THROW(find_measure("hessian_scalin"), UserError);
}

TEST(Registry, ATaskOfTheCpuRefusesAnotherDevice) {
  const auto& entry = find_measure("hessian_spike");
  Rows rows;
  try {
    entry.run(JsonObject(entry.canary_options, "test"), 1, torch::kCUDA, rows);
    ADD_FAILURE() << "its record would have named a GPU";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos) << error.what();
  }
}

/// What a task found, without its times, which no machine repeats.
Json timeless(const Rows& rows) {
  Json found = {rows.rows(), rows.values()};
  const auto strip = [](Json& object) {
    for (auto item = object.begin(); item != object.end();)
      item = item.key().ends_with("_seconds") ? object.erase(item) : std::next(item);
  };
  for (auto& row : found[0]) strip(row);
  strip(found[1]);
  return found;
}

TEST(Registry, CanariesArePureFunctionsOfOptionsAndSeedTimesAside) {
  for (const auto& entry : measure_registry()) {
    const auto first = run(entry.name, entry.canary_options),
               again = run(entry.name, entry.canary_options),
               other = run(entry.name, entry.canary_options, /*seed=*/2);
    ASSERT_FALSE(first.rows().empty()) << entry.name;
    ASSERT_FALSE(first.values().empty()) << entry.name;
    EXPECT_EQ(timeless(first), timeless(again)) << entry.name;
    EXPECT_NE(timeless(first), timeless(other)) << entry.name;
    EXPECT_EQ(first.rows().front().at("row"), 1);
    EXPECT_EQ(first.rows().back().at("row"), first.rows().size());
    auto options = entry.canary_options;
    options["surplus"] = 1;
    EXPECT_THROW(run(entry.name, options), UserError) << entry.name;
  }
}

TEST(Rows, RefuseWhatARecordCannotHold) {
  Rows rows;
  EXPECT_THROW(rows.add({{"x", std::nan("")}}), UserError);
  EXPECT_ANY_THROW(rows.add({{"x", Json::array()}}));
  EXPECT_ANY_THROW(rows.add({{"row", 3}}));
  EXPECT_THROW(rows.value("x", std::nan("")), UserError);
  rows.value("x", 1);
  EXPECT_ANY_THROW(rows.value("x", 1));
}

TEST(Rows, ASignalEndsATaskAtItsNextRow) {
  EXPECT_EXIT(testing::run_after_a_signal([] {
                Rows rows;
                rows.add({{"x", 1}});
              }),
              ::testing::ExitedWithCode(kExitInterrupted), "");
}

TEST(HessianScaling, TheLinearLayerGrowsWithTheSquareAndSimpleNormNotAtAll) {
  const auto rows = run("hessian_scaling", {{"width", 64}});
  const auto slope_of = [&](const char* op, const char* loss, double eps) {
    return slope(rows, "weight_norm", "hessian_norm",
                 {{"operator", op}, {"loss", loss}, {"eps", eps}});
  };
  EXPECT_NEAR(slope_of("linear", "frozen", 0), 2, 1e-6);
  EXPECT_LT(std::abs(slope_of("simplenorm", "frozen", 0)), 1e-9);
  EXPECT_LT(std::abs(slope_of("simplenorm", "cross_entropy", 0)), 1e-9);
  EXPECT_LT(rows.values().at("linear_frozen_change"), 1e-12);
  EXPECT_LT(rows.values().at("simplenorm_eps_0_frozen_change"), 1e-12);
  EXPECT_LT(rows.values().at("closed_form_error"), 1e-11);
  // The same three numbers can say no: H_yy that depends on y, and eps above 0.
  EXPECT_GT(std::abs(slope_of("linear", "cross_entropy", 0) - 2), 0.01);
  EXPECT_GT(std::abs(slope_of("simplenorm", "frozen", 1e-5)), 1e-9);
  EXPECT_GT(rows.values().at("simplenorm_eps_1e-05_frozen_change"), 1e-6);
  EXPECT_GT(rows.values().at("linear_cross_entropy_change"), 0.01);
  EXPECT_THROW(run("hessian_scaling", {{"width", 8}, {"scales", {1}}}), UserError);
}

TEST(HessianDominance, HoldsForARandomGradientAndFailsAtInitialization) {
  const auto values = run("hessian_dominance", {{"widths", {32, 64, 128, 256}}}).values();
  EXPECT_NEAR(values.at("random_ratio_slope"), -0.5, 0.2);
  EXPECT_LT(values.at("random_ratio_at_last_width"), 0.1);
  EXPECT_GT(values.at("cross_entropy_ratio_slope"), 0.2);
  EXPECT_GT(values.at("cross_entropy_ratio_at_last_width"), 2);
  EXPECT_NEAR(values.at("squared_ratio_at_last_width"), 1, 0.3);
}

TEST(HessianSpike, ALowStableRankBringsGrowthBack) {
  const auto rows = run("hessian_spike", {{"width", 64}, {"spikes", {0, 8, 32, 1024}}});
  const auto& values = rows.values();
  EXPECT_GT(values.at("simplenorm_generic_peak_growth"), 5);
  EXPECT_LT(values.at("simplenorm_generic_last_growth"),
            0.5 * values.at("simplenorm_generic_peak_growth"));
  EXPECT_LE(values.at("simplenorm_aligned_peak_growth"), 2);
  EXPECT_GT(values.at("linear_generic_last_growth"), 1e4);
  EXPECT_LE(values.at("gauss_newton_over_bound"), 1 + 1e-12);
  EXPECT_LT(rows.rows()[3].at("stable_rank"), 1.01);
}

const Json kSmallNetwork = {{"width", 16},           {"num_heads", 2},
                            {"mlp_width", 24},       {"vocabulary", 32},
                            {"num_tokens", 6},       {"scales_all", {0.5, 1, 3, 8}},
                            {"scales_qk", {1, 3, 8}}};

TEST(Measure, NumbersTooLargeToComputeWithAreAnErrorOfTheOptions) {
  EXPECT_THROW(run("hessian_scaling", {{"width", 8}, {"scales", {1, 1e30}}}), UserError);
}

// Else each would be an identity by itself.
TEST(HessianNetwork, NeedsTwoFactorsAndTheIdentitiesOneThatScales) {
  for (const char* scales : {"scales_all", "scales_qk"}) {
    Json options = kSmallNetwork;
    options[scales] = {3, 3};
    EXPECT_THROW(run("hessian_network", options), UserError) << scales;
  }
  EXPECT_THROW(run("hessian_identities", {{"width_in", 10}, {"width_out", 8}, {"scale", 1}}),
               UserError);
}

TEST(HessianNetwork, OnlySimpleGptKeepsItsHessian) {
  const auto values = run("hessian_network", kSmallNetwork).values();
  EXPECT_LT(values.at("worst_relative_residual"), 1e-6);
  for (const std::string block : {"_block_0", "_block_1"}) {
    EXPECT_LT(values.at("simplegpt_all" + block + "_change"), 1e-9);
    EXPECT_LT(values.at("simplegpt_qk" + block + "_change"), 1e-9);
    EXPECT_LT(values.at("prenorm_qknorm_qk" + block + "_change"), 1e-9);
    EXPECT_GT(values.at("prenorm_qk" + block + "_change"), 0.1);
    EXPECT_GT(values.at("prenorm_qknorm_all" + block + "_change"), 0.1);
  }
  EXPECT_GT(values.at("prenorm_all_block_0_growth"), 10);
  EXPECT_LT(values.at("prenorm_all_block_1_growth"), 0.1);
}

TEST(HessianNetwork, EpsBreaksTheInvarianceAndUnknownWordsAreErrors) {
  auto options = kSmallNetwork;
  options["eps"] = 1e-3;
  options["models"] = {"simplegpt"};
  options["blocks"] = {1};
  EXPECT_GT(run("hessian_network", options).values().at("simplegpt_all_block_1_change"), 1e-6);
  options["models"] = {"gpt"};
  EXPECT_THROW(run("hessian_network", options), UserError);
  options["models"] = {"simplegpt"};
  options["blocks"] = {3};
  EXPECT_THROW(run("hessian_network", options), UserError);
}

TEST(HessianIdentities, HoldWithoutEpsAndFailWithIt) {
  const Json small = {{"width_in", 28}, {"width_out", 20}, {"vocabulary", 60}};
  auto with_eps = small;
  with_eps["eps"] = 0.01;
  const auto exact = run("hessian_identities", small).values(),
             broken = run("hessian_identities", with_eps).values();
  EXPECT_EQ(exact.size(), 9u);
  for (const auto& [identity, error] : exact) {
    EXPECT_LT(error, 1e-10) << identity;
    EXPECT_GT(broken.at(identity), 1e-5) << identity;
  }
}

}  // namespace
}  // namespace normbench
