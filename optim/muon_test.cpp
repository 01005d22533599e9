// Truth: what orthogonalisation means; the trajectory is a golden file.
#include "optim/muon.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/base/errors.h"

namespace normbench {
namespace {

torch::Tensor wave(at::IntArrayRef shape, double phase) {
  return (torch::arange(shape[0] * (shape.size() > 1 ? shape[1] : 1), torch::kDouble)
              .square()
              .mul(0.37) +
          phase)
      .sin()
      .view(shape);
}

std::vector<ParameterGroup> toy_groups() {
  std::vector<ParameterGroup> groups = {
      {.name = "wide", .tensor = wave({5, 9}, 0), .decay = true, .hidden_matrix = true},
      {.name = "tall", .tensor = wave({9, 5}, 1), .hidden_matrix = true},
      {.name = "embed.weight", .tensor = wave({7, 5}, 2), .embedding = true},
      {.name = "gain", .tensor = wave({5}, 3)},
      {.name = "qk_scale", .tensor = wave({2, 4}, 4)},
  };
  for (auto& group : groups) group.tensor.requires_grad_();
  return groups;
}

void train(Optimizer& optimizer, const std::vector<ParameterGroup>& groups, int from, int to) {
  for (int t = from; t <= to; ++t) {
    for (const auto& group : groups)
      group.tensor.mutable_grad() = wave(group.tensor.sizes(), t) + 0.1 * group.tensor.detach();
    optimizer.step(0.01);
  }
}

TEST(Muon, NewtonSchulzMovesEverySingularValueNearOneAndKeepsTheDirections) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{5, 9}, {9, 5}}) {
    const auto u = wave(shape, 0);
    const auto x = newton_schulz(u, 5, 1e-7);
    const auto values = at::linalg_svdvals(x);
    // The quintic with these coefficients ends between 0.68 and 1.14 for values above 0.01.
    EXPECT_GT(values.min().item<double>(), 0.6);
    EXPECT_LT(values.max().item<double>(), 1.2);
    // u = U S V^T gives U s V^T: x^T u = V s S V^T is symmetric.
    const auto p = x.t().mm(u);
    EXPECT_LT((p - p.t()).abs().max().item<double>(), 1e-12);  // fp64, five products of 9 terms
  }
  EXPECT_TRUE(newton_schulz(torch::zeros({3, 4}), 5, 1e-7).equal(torch::zeros({3, 4})));
}

TEST(Muon, WhatIsNoHiddenMatrixIsAdamW) {
  const auto ours = toy_groups(), theirs = toy_groups();
  Muon muon(ours, {});
  AdamW adamw(theirs, {});
  train(muon, ours, 1, 5);
  train(adamw, theirs, 1, 5);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(muon.state().count("momentum." + ours[i].name), i < 2 ? 1u : 0u) << ours[i].name;
    EXPECT_EQ(ours[i].tensor.equal(theirs[i].tensor), i >= 2) << ours[i].name;
  }
}

TEST(Muon, AWrongOptionIsNamedAsItsOwn) {
  const std::pair<const char*, MuonOptions> cases[] = {
      {"momentum", {.momentum = 1}},     {"weight_decay", {.weight_decay = -0.1}},
      {"adam_beta1", {.adam_beta1 = 1}}, {"adam_beta2", {.adam_beta2 = -0.1}},
      {"adam_eps", {.adam_eps = 0}},     {"eps", {.eps = 0}}};
  for (const auto& [name, options] : cases) {
    try {
      Muon(toy_groups(), options);
      ADD_FAILURE() << name << " was accepted";
    } catch (const UserError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("muon"), std::string::npos) << text;
      EXPECT_NE(text.find(name), std::string::npos) << text;
      EXPECT_EQ(text.find("adamw"), std::string::npos) << text;
    }
  }
}

TEST(Muon, ScalesAreTheNamedOnes) {
  const auto start = toy_groups();
  for (const auto& [scale, factor] : {std::pair("rms", 0.2 * 3), std::pair("spectral", 1.0)}) {
    const auto groups = toy_groups();
    Muon muon(groups, {.weight_decay = 0, .scale = scale});
    train(muon, groups, 1, 1);
    // Nesterov on the first gradient is a multiple of it.
    const auto g = wave({5, 9}, 1) + 0.1 * start[0].tensor.detach();
    const auto step = start[0].tensor - groups[0].tensor;
    EXPECT_LT((step - 0.01 * factor * newton_schulz(g, 5, 1e-7)).abs().max().item<double>(), 1e-14)
        << scale;  // fp64, steps of 0.01
  }
}

TEST(Muon, ContinuesFromItsStateBitByBitAndRefusesAnother) {
  const auto straight = toy_groups(), resumed = toy_groups();
  Muon first(straight, {}), before(resumed, {}), after(resumed, {});
  train(first, straight, 1, 8);
  train(before, resumed, 1, 3);
  after.load_state(before.state());
  train(after, resumed, 4, 8);
  for (size_t i = 0; i < straight.size(); ++i)
    EXPECT_TRUE(straight[i].tensor.equal(resumed[i].tensor));
  auto state = first.state();
  state.erase("momentum.wide");
  EXPECT_THROW(first.load_state(state), UserError);
  // The fault is in AdamW's half: Muon's half must not have been taken either.
  state = after.state();
  state["momentum.wide"] = torch::ones_like(state["momentum.wide"]);
  state["v.gain"] = torch::ones({1});
  EXPECT_THROW(first.load_state(state), UserError);
  EXPECT_TRUE(first.state().at("momentum.wide").equal(after.state().at("momentum.wide")));
  for (const int64_t steps : {0, 101})
    EXPECT_THROW(Muon(toy_groups(), {.newton_schulz_steps = steps}), UserError) << steps;
}

}  // namespace
}  // namespace normbench
