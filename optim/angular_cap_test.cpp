// Truth: the geometry of angular_cap.h; trajectories are golden files.
#include "optim/angular_cap.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "optim/adamw.h"
#include "suite/base/errors.h"

namespace normbench {
namespace {

torch::Tensor wave(at::IntArrayRef shape, double phase, torch::ScalarType type) {
  int64_t n = 1;
  for (const auto size : shape) n *= size;
  return (torch::arange(n, torch::kDouble) * 1.7 + phase).sin().view(shape).to(type);
}

torch::Tensor unit(const torch::Tensor& w, int64_t axis) {
  return w / w.square().sum(axis, true).sqrt();
}

torch::Tensor angles(const torch::Tensor& a, const torch::Tensor& b, int64_t axis) {
  const auto x = unit(a.to(torch::kDouble), axis), y = unit(b.to(torch::kDouble), axis);
  const auto c = (x * y).sum(axis, true);
  return torch::atan2((y - c * x).square().sum(axis).sqrt(), c.squeeze(axis));
}

/// Rows, columns, an embedding and a free matrix, all with the same need to turn.
std::vector<ParameterGroup> toy_groups(torch::ScalarType type = torch::kFloat) {
  std::vector<ParameterGroup> groups = {
      {.name = "rows", .tensor = {}, .constraint = RowConstraint::kUnit, .axis = 1},
      {.name = "columns", .tensor = {}, .constraint = RowConstraint::kUnit, .axis = 0},
      {.name = "embed.weight",
       .tensor = {},
       .constraint = RowConstraint::kUnit,
       .axis = 1,
       .embedding = true},
      {.name = "bound", .tensor = {}, .constraint = RowConstraint::kBound, .axis = 1},
      {.name = "free", .tensor = {}},
  };
  double phase = 0;
  for (auto& group : groups) {
    group.tensor = wave({6, 8}, phase += 0.4, type);
    if (group.constraint == RowConstraint::kUnit)
      group.tensor = unit(group.tensor, group.axis).contiguous();
    group.tensor.requires_grad_();
  }
  return groups;
}

void train(Optimizer& optimizer, const std::vector<ParameterGroup>& groups, int from, int to,
           double lr = 0.1) {
  for (int t = from; t <= to; ++t) {
    for (const auto& group : groups)
      group.tensor.mutable_grad() =
          wave({6, 8}, t, group.tensor.scalar_type()) + 0.1 * group.tensor.detach();
    optimizer.step(lr);
    for (const auto& group : groups) constrain_(group);
  }
}

std::unique_ptr<AngularCap> capped(const std::vector<ParameterGroup>& groups,
                                   const AngularCapOptions& options) {
  return std::make_unique<AngularCap>(
      std::make_unique<AdamW>(groups, AdamWOptions{.weight_decay = 0}), groups, options);
}

TEST(AngularCap, ACappedVectorTurnsByExactlyThetaMaxOnTheGreatCircle) {
  for (const auto type : {torch::kDouble, torch::kFloat})
    for (const int64_t axis : {0, 1}) {
      // fp64 sums of 8 terms; fp32 stores the result with 6e-8 of each entry, sqrt(8) of them.
      const double tolerance = type == torch::kDouble ? 1e-14 : 2e-7;
      const auto before = unit(wave({8, 8}, 0, type), axis), w = wave({8, 8}, 2, type);
      const auto asked = angles(before, w, axis);
      auto turned = w.clone();
      const auto vectors = angular_cap_(turned, before, axis, 0.05);
      EXPECT_TRUE(vectors.capped.all().item<bool>());
      EXPECT_LT((vectors.phi - asked).abs().max().item<double>(), 1e-14);
      EXPECT_LT((angles(before, turned, axis) - 0.05).abs().max().item<double>(), tolerance);
      EXPECT_LT((turned.square().sum(axis).sqrt() - 1).abs().max().item<double>(), tolerance);
      // What is left to the candidate is the rest of the same arc.
      EXPECT_LT((angles(turned, w, axis) - (asked - 0.05)).abs().max().item<double>(), tolerance);
      auto scaled = w * 3.5;
      angular_cap_(scaled, before, axis, 0.05);
      EXPECT_LT((scaled - turned).abs().max().item<double>(), tolerance);
    }
}

TEST(AngularCap, BelowTheCapNoBitChanges) {
  const auto before = unit(wave({5, 8}, 0, torch::kFloat), 1);
  const auto w = before + 0.001 * wave({5, 8}, 2, torch::kFloat);
  auto result = w.clone();
  const auto vectors = angular_cap_(result, before, 1, 0.05);
  EXPECT_FALSE(vectors.capped.any().item<bool>());
  EXPECT_TRUE(result.equal(w));
}

TEST(AngularCap, WhatHasNoDirectionKeepsItsVector) {
  const auto before = unit(wave({4, 8}, 0, torch::kFloat), 1);
  auto w = wave({4, 8}, 2, torch::kFloat);
  w[0] = -2 * before[0];  // exactly opposite: a power of two rounds nothing
  w[1].zero_();
  auto old = before.clone();
  old[2].zero_();  // no direction to turn from
  auto result = w.clone();
  const auto vectors = angular_cap_(result, old, 1, 0.05);
  EXPECT_TRUE(result[0].equal(before[0]));
  EXPECT_TRUE(result[1].equal(before[1]));
  EXPECT_TRUE(result[2].equal(w[2]));
  EXPECT_TRUE(result.isfinite().all().item<bool>());
  EXPECT_TRUE(vectors.capped[0].item<bool>());
  EXPECT_FALSE(vectors.capped[2].item<bool>());
}

TEST(AngularCap, ACapOfPiChangesNoBit) {
  const auto with = toy_groups(), without = toy_groups();
  auto cap = capped(with, {.cap = "constant", .theta_max = std::numbers::pi});
  AdamW plain(without, {.weight_decay = 0});
  train(*cap, with, 1, 20);
  train(plain, without, 1, 20);
  for (size_t i = 0; i < with.size(); ++i)
    EXPECT_TRUE(with[i].tensor.equal(without[i].tensor)) << with[i].name;
  EXPECT_EQ(cap->diagnostics().at("capped_share"), 0);
}

TEST(AngularCap, CapsUnitVectorsAndNeitherEmbeddingsNorTheRest) {
  const auto with = toy_groups(), without = toy_groups();
  const auto start = toy_groups();
  auto cap = capped(with, {.kappa_c = 0.25});
  AdamW plain(without, {.weight_decay = 0});
  train(*cap, with, 1, 1);
  train(plain, without, 1, 1);
  for (size_t i = 0; i < with.size(); ++i) {
    if (i >= 2) {
      EXPECT_TRUE(with[i].tensor.equal(without[i].tensor)) << with[i].name;
      continue;
    }
    // theta_max = kappa_c lr sqrt(n), n the length of the vector: 8 in a row, 6 in a column.
    const double theta = 0.25 * 0.1 * std::sqrt(i == 0 ? 8.0 : 6.0);
    const auto turn = angles(start[i].tensor, with[i].tensor, with[i].axis);
    EXPECT_LT((turn - theta).abs().max().item<double>(), 2e-7) << with[i].name;  // fp32, as above
  }
  EXPECT_EQ(cap->diagnostics().at("capped_share"), 1);  // a first step of Adam asks for lr sqrt(n)
  EXPECT_GT(cap->diagnostics().at("turn_median"), 0.1);
  // The same embedding, not declared as one, would be turned less.
  auto undeclared = toy_groups();
  undeclared[2].embedding = false;
  train(*capped(undeclared, {.kappa_c = 0.25}), undeclared, 1, 1);
  EXPECT_GT((undeclared[2].tensor - without[2].tensor).abs().max().item<double>(), 0.01);
}

TEST(AngularCap, TheFloorActsWhereTheRateVanishes) {
  const auto groups = toy_groups(torch::kDouble), start = toy_groups(torch::kDouble);
  train(*capped(groups, {.kappa_c = 1e-6, .theta_floor = 1e-3}), groups, 1, 1);
  EXPECT_LT((angles(start[0].tensor, groups[0].tensor, 1) - 1e-3).abs().max().item<double>(),
            1e-14);  // fp64, 8 terms
}

TEST(AngularCap, TangentGradientHasNoPartAlongTheVectorEmbeddingsIncluded) {
  const auto groups = toy_groups(torch::kDouble);
  auto optimizer = capped(groups, {.cap = "off", .tangent_gradient = true});
  train(*optimizer, groups, 1, 1);
  const auto start = toy_groups(torch::kDouble);
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto along =
        (groups[i].tensor.grad() * start[i].tensor).sum(groups[i].axis).abs().max().item<double>();
    if (i < 3)
      EXPECT_LT(along, 1e-14) << groups[i].name;  // fp64, 8 terms
    else
      EXPECT_GT(along, 0.01) << groups[i].name;
  }
  EXPECT_EQ(optimizer->diagnostics().count("capped_share"), 0u);
}

TEST(AngularCap, ContinuesFromItsStateBitByBit) {
  const auto straight = toy_groups(), resumed = toy_groups();
  auto first = capped(straight, {}), before = capped(resumed, {}), after = capped(resumed, {});
  train(*first, straight, 1, 12);
  train(*before, resumed, 1, 5);
  after->load_state(before->state());
  train(*after, resumed, 6, 12);
  for (size_t i = 0; i < straight.size(); ++i)
    EXPECT_TRUE(straight[i].tensor.equal(resumed[i].tensor));
}

TEST(AngularCap, RegistryReadsBothSetsOfOptionsAndRefusesWhatCannotWork) {
  const auto make = [](const Json& options) {
    return find_optimizer("gated_adamw_capped").make(toy_groups(), JsonObject(options, "test"));
  };
  const auto optimizer = make({{"a", 1.0}, {"kappa_c", 0.5}, {"weight_decay", 0.0}});
  EXPECT_EQ(optimizer->state().count("m.rows"), 1u);
  EXPECT_THROW(make({{"kapa_c", 0.5}}), UserError);
  EXPECT_THROW(make({{"kappa_c", -1.0}}), UserError);
  EXPECT_THROW(make({{"cap", "constant"}}), UserError);
}

// A setting that does nothing is an error: the record would say what was not done.
TEST(AngularCap, RefusesWhatWouldBeWithoutEffect) {
  const auto message = [](const Json& options, size_t first_group = 0) -> std::string {
    auto groups = toy_groups();
    groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(first_group));
    try {
      find_optimizer("adamw_capped").make(groups, JsonObject(options, "test"));
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const Json constant = {{"cap", "constant"}, {"theta_max", 0.05}};
  const Json off = {{"cap", "off"}, {"tangent_gradient", true}};
  const auto with = [](Json options, const char* name, double value) {
    options[name] = value;
    return options;
  };
  const std::pair<const char*, Json> cases[] = {{"theta_max", {{"theta_max", 1.0}}},
                                                {"theta_max", with(off, "theta_max", 1)},
                                                {"kappa_c", with(constant, "kappa_c", 0.5)},
                                                {"theta_floor", with(constant, "theta_floor", 0.0)},
                                                {"kappa_c", with(off, "kappa_c", 0.5)},
                                                {"theta_floor", with(off, "theta_floor", 1e-3)},
                                                {"tangent_gradient", {{"cap", "off"}}}};
  for (const auto& [option, options] : cases)
    EXPECT_NE(message(options).find(option), std::string::npos) << options << message(options);
  // What a resolved configuration says: every option, unused ones with their default.
  EXPECT_EQ(message(with(with(constant, "kappa_c", 0.25), "theta_floor", 1e-4)), "no error");
  EXPECT_EQ(message(off), "no error");
  // From the third group on the only unit vectors are an embedding's, then there are none.
  EXPECT_NE(message({{"cap", "proportional"}}, 2).find("norm 1"), std::string::npos);
  EXPECT_EQ(message(off, 2), "no error");
  EXPECT_NE(message(off, 3).find("tangent_gradient"), std::string::npos);
}

}  // namespace
}  // namespace normbench
