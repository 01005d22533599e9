// Truth: the limits of the formula in gated_adamw.h, and AdamW; trajectories are golden files.
#include "optim/gated_adamw.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "optim/adamw.h"
#include "suite/base/errors.h"

namespace normbench {
namespace {

std::vector<ParameterGroup> toy_groups(torch::ScalarType type = torch::kDouble) {
  const auto options = torch::TensorOptions(type);
  std::vector<ParameterGroup> groups;
  groups.push_back(
      {.name = "w", .tensor = torch::linspace(-1, 1, 35, options).view({5, 7}), .decay = true});
  groups.push_back({.name = "b", .tensor = torch::linspace(-2, 1, 6, options)});
  for (auto& group : groups) group.tensor.requires_grad_();
  return groups;
}

/// A gradient that depends on the weights, so that errors grow, over five decades.
void set_gradients(const std::vector<ParameterGroup>& groups, int t) {
  for (const auto& group : groups) {
    const auto w = group.tensor.detach();
    group.tensor.mutable_grad() = w * 0.3 + (w * 7 + t).sin() * std::pow(10.0, t % 5 - 3);
  }
}

/// The largest difference of two optimisers on the same toy after `steps` steps.
template <class A, class B>
double difference(A make_a, B make_b, int steps) {
  const auto x = toy_groups(), y = toy_groups();
  auto a = make_a(x);
  auto b = make_b(y);
  for (int t = 1; t <= steps; ++t) {
    set_gradients(x, t);
    set_gradients(y, t);
    a.step(0.01 / t);
    b.step(0.01 / t);
  }
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, (x[i].tensor - y[i].tensor).abs().max().item<double>());
  return worst;
}

auto gated(const GatedAdamWOptions& options) {
  return [=](const auto& groups) { return GatedAdamW(groups, options); };
}

auto adamw(double eps) {
  return [=](const auto& groups) { return AdamW(groups, {.eps = eps, .weight_decay = 0.1}); };
}

TEST(GatedAdamW, WithAEqualToOneIsAdamWWithTheSumOfBothEps) {
  // 200 steps whose terms round at 2.2e-16 of weights near 1, and a logarithm of 20 as the argument
  // of an exponential: 20 times that in the gate.
  EXPECT_LT(difference(gated({.a = 1, .eps_gate = 1e-3, .eps_num = 1e-5}), adamw(1e-3 + 1e-5), 200),
            1e-12);
  EXPECT_LT(difference(gated({.a = 1}), adamw(1e-8 + 1e-15), 200), 1e-12);
  // A swapped a and 1 - a would be seen.
  EXPECT_GT(difference(gated({.a = 0, .eps_gate = 1e-3, .eps_num = 1e-5}), adamw(1e-3 + 1e-5), 200),
            1e-3);
}

TEST(GatedAdamW, WithAGoingToZeroMakesHalfTheStepAndAllOfTheDecay) {
  for (const double a : {0.0, 1e-14}) {
    const auto gated_groups = toy_groups(), whole_groups = toy_groups();
    set_gradients(gated_groups, 1);
    set_gradients(whole_groups, 1);
    GatedAdamW(gated_groups, {.a = a, .eps_num = 1e-8}).step(0.01);
    AdamW(whole_groups, {.eps = 1e-8, .weight_decay = 0.1}).step(0.01);
    for (size_t i = 0; i < gated_groups.size(); ++i) {
      const auto start = toy_groups()[i].tensor.detach() * (i == 0 ? 1 - 0.01 * 0.1 : 1);
      const auto half = gated_groups[i].tensor - start, whole = whole_groups[i].tensor - start;
      EXPECT_GT(whole.abs().max().item<double>(), 0.009);
      // Steps of 0.01 added to weights of up to 2: rounding 2 * 1.1e-16; the gate is off 1/2 by
      // a * 20 / 4.
      EXPECT_LT((2 * half - whole).abs().max().item<double>(), 5e-15) << a << " " << i;
    }
  }
}

TEST(GatedAdamW, FirstStepHasNoTraceOfTheMomentsStartAtZero) {
  const auto groups = toy_groups();
  set_gradients(groups, 1);
  const auto g = groups[1].tensor.grad().clone();
  const auto b = groups[1].tensor.detach().clone();
  GatedAdamW optimizer(groups, {.a = 0.5, .eps_gate = 0.01, .alpha = 0.7});
  optimizer.step(0.1);
  // m^ = g and v^ = g^2: theta - lr alpha gamma sign(g), gamma = 1 / (1 + sqrt(eps_gate / |g|)).
  const auto gamma = 1 / (1 + (0.01 / g.abs()).sqrt());
  EXPECT_LT((groups[1].tensor - (b - 0.07 * gamma * g.sign())).abs().max().item<double>(),
            1e-13);  // 1e-15 / |g| from eps_num, |g| > 0.03
  EXPECT_LT((optimizer.gate("b") - gamma).abs().max().item<double>(), 1e-13);
  const auto mean = torch::cat({optimizer.gate("w").flatten(), optimizer.gate("b")}).mean();
  EXPECT_DOUBLE_EQ(optimizer.diagnostics().at("mean_gate"), mean.item<double>());
  EXPECT_THROW(optimizer.gate("c"), c10::Error);
}

TEST(GatedAdamW, NeitherTinyNorHugeGradientsNorASteepGateGiveNan) {
  for (const double a : {0.0, 0.5, 2.0, 1e4})
    for (const double size : {0.0, 1e-38, 1e-20, 1e-8, 1.0, 1e18}) {
      const auto groups = toy_groups(torch::kFloat);
      GatedAdamW optimizer(groups, {.a = a});
      for (int t = 1; t <= 3; ++t) {
        for (const auto& group : groups)
          group.tensor.mutable_grad() = torch::full_like(group.tensor, size);
        optimizer.step(0.01);
      }
      for (const auto& group : groups)
        EXPECT_TRUE(group.tensor.isfinite().all().item<bool>()) << a << " " << size;
    }
}

TEST(GatedAdamW, ContinuesFromItsStateBitByBit) {
  const auto straight = toy_groups(torch::kFloat), resumed = toy_groups(torch::kFloat);
  GatedAdamW first(straight, {}), before(resumed, {}), after(resumed, {});
  const auto train = [](GatedAdamW& optimizer, const auto& groups, int from, int to) {
    for (int t = from; t <= to; ++t) {
      set_gradients(groups, t);
      optimizer.step(0.01);
    }
  };
  train(first, straight, 1, 20);
  train(before, resumed, 1, 9);
  after.load_state(before.state());
  train(after, resumed, 10, 20);
  for (size_t i = 0; i < straight.size(); ++i)
    EXPECT_TRUE(straight[i].tensor.equal(resumed[i].tensor));
  auto state = first.state();
  state.erase("m.w");
  EXPECT_THROW(first.load_state(state), UserError);
}

TEST(GatedAdamW, RefusesOptionsThatCannotWork) {
  for (const GatedAdamWOptions& wrong :
       {GatedAdamWOptions{.a = -1}, GatedAdamWOptions{.eps_gate = 0},
        GatedAdamWOptions{.eps_num = 0}, GatedAdamWOptions{.alpha = 0},
        GatedAdamWOptions{.beta2 = 1}, GatedAdamWOptions{.weight_decay = -1}})
    EXPECT_THROW(GatedAdamW(toy_groups(), wrong), UserError);
  try {
    GatedAdamW(toy_groups(), {.eps_num = 1e-31});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {  // not "0.000000"
    EXPECT_NE(std::string(error.what()).find("1e-31"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace normbench
