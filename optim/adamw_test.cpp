#include "optim/adamw.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "suite/base/errors.h"

namespace normbench {
namespace {

std::vector<ParameterGroup> toy_groups(torch::ScalarType type) {
  const auto options = torch::TensorOptions(type);
  std::vector<ParameterGroup> groups;
  groups.push_back(
      {.name = "w", .tensor = torch::linspace(-1, 1, 35, options).view({5, 7}), .decay = true});
  groups.push_back({.name = "b", .tensor = torch::linspace(-2, 1, 6, options)});
  for (auto& group : groups) group.tensor.requires_grad_();
  return groups;
}

/// A gradient that depends on the weights, so that errors grow, and changes sign and size over the
/// steps.
void set_gradients(const std::vector<ParameterGroup>& groups, int t) {
  for (const auto& group : groups) {
    const auto w = group.tensor.detach();
    group.tensor.mutable_grad() = w * 0.3 + (w * 7 + t).sin() * std::pow(10.0, t % 5 - 3);
  }
}

TEST(AdamW, MakesTheStepsOfLibTorchInDouble) {
  const auto ours = toy_groups(torch::kDouble), theirs = toy_groups(torch::kDouble);
  AdamW optimizer(ours, {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1});
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(
        torch::optim::AdamWOptions().betas({0.9, 0.95}).eps(1e-8).weight_decay(decay));
  };
  torch::optim::AdamW reference(
      {torch::optim::OptimizerParamGroup({theirs[0].tensor}, options(0.1)),
       torch::optim::OptimizerParamGroup({theirs[1].tensor}, options(0.0))},
      torch::optim::AdamWOptions());
  for (int t = 1; t <= 200; ++t) {
    const double lr = 0.01 / t;
    set_gradients(ours, t);
    set_gradients(theirs, t);
    optimizer.step(lr);
    for (auto& group : reference.param_groups())
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(lr);
    reference.step();
  }
  for (size_t i = 0; i < ours.size(); ++i)
    // 200 steps whose terms round at 2.2e-16 of weights near 1: 4e-14; x 10 for the other order of
    // operations
    EXPECT_LT((ours[i].tensor - theirs[i].tensor).abs().max().item<double>(), 5e-13)
        << ours[i].name;
}

TEST(AdamW, FusedKernelEqualsTheReadableLines) {
  const auto plain = toy_groups(torch::kFloat), fused = toy_groups(torch::kFloat);
  AdamW a(plain, {.implementation = "plain"}), b(fused, {.implementation = "fused"});
  for (int t = 1; t <= 50; ++t) {
    set_gradients(plain, t);
    set_gradients(fused, t);
    a.step(0.01);
    b.step(0.01);
  }
  for (size_t i = 0; i < plain.size(); ++i)
    // fp32 rounds weights near 1 by 6e-8 a step: 3e-6 over 50 steps; x 4 because the gradient
    // depends on the weights
    EXPECT_LT((plain[i].tensor - fused[i].tensor).abs().max().item<double>(), 1.2e-5)
        << plain[i].name;
}

TEST(AdamW, DecayActsOnTheGroupsThatDecay) {
  const auto groups = toy_groups(torch::kFloat);
  const auto w = groups[0].tensor.detach().clone(), b = groups[1].tensor.detach().clone();
  for (const auto& group : groups) group.tensor.mutable_grad() = torch::zeros_like(group.tensor);
  AdamW(groups, {.weight_decay = 0.5}).step(0.1);
  EXPECT_LT((groups[0].tensor - w * 0.95).abs().max().item<double>(),
            1e-7);  // fp32 rounding of numbers up to 1
  EXPECT_TRUE(groups[1].tensor.equal(b));
}

TEST(AdamW, ContinuesFromItsStateBitByBit) {
  for (const std::string implementation : {"plain", "fused"}) {
    const auto straight = toy_groups(torch::kFloat), resumed = toy_groups(torch::kFloat);
    const AdamWOptions options = {.implementation = implementation};
    AdamW first(straight, options), before(resumed, options);
    std::map<std::string, torch::Tensor> saved;
    const auto train = [](AdamW& optimizer, const auto& groups, int from, int to) {
      for (int t = from; t <= to; ++t) {
        set_gradients(groups, t);
        optimizer.step(0.01);
      }
    };
    train(first, straight, 1, 20);
    train(before, resumed, 1, 9);
    for (const auto& [name, tensor] : before.state()) saved[name] = tensor.clone();
    EXPECT_EQ(saved.size(), 5u);
    EXPECT_EQ(saved.at("t").item<int64_t>(), 9);
    AdamW after(resumed, options);
    after.load_state(saved);
    train(after, resumed, 10, 20);
    for (size_t i = 0; i < straight.size(); ++i)
      EXPECT_TRUE(straight[i].tensor.equal(resumed[i].tensor))
          << implementation << " " << straight[i].name;
  }
}

TEST(AdamW, RefusesTheStateOfAnotherModel) {
  AdamW optimizer(toy_groups(torch::kFloat), {});
  auto state = optimizer.state();
  state.erase("m.w");
  EXPECT_THROW(optimizer.load_state(state), UserError);
  state["m.w"] = torch::zeros({3});
  EXPECT_THROW(optimizer.load_state(state), UserError);
  state["m.w"] = torch::zeros({5, 7});
  state["m.other"] = torch::zeros({5, 7});
  EXPECT_THROW(optimizer.load_state(state), UserError);
}

TEST(AdamW, RefusesOptionsThatCannotWork) {
  EXPECT_THROW(AdamW(toy_groups(torch::kDouble), {.implementation = "fused"}), UserError);
  EXPECT_THROW(AdamW(toy_groups(torch::kFloat), {.beta2 = 1.0}), UserError);
  // A row of an embedding that no token has touched has v = 0: 0 / 0. fp32 ends at 1.4e-45.
  for (const double eps : {0.0, -1e-8, 1e-50})
    EXPECT_THROW(AdamW(toy_groups(torch::kFloat), {.eps = eps}), UserError) << eps;
  EXPECT_THROW(find_optimizer("adam_w"), UserError);
}

TEST(AdamW, TheLeastEpsKeepsAnUntouchedWeightFinite) {
  for (const std::string implementation : {"plain", "fused"}) {
    const auto groups = toy_groups(torch::kFloat);
    for (const auto& group : groups) group.tensor.mutable_grad() = torch::zeros_like(group.tensor);
    AdamW(groups, {.eps = 1e-30, .weight_decay = 0, .implementation = implementation}).step(0.01);
    for (size_t i = 0; i < groups.size(); ++i)
      EXPECT_TRUE(groups[i].tensor.equal(toy_groups(torch::kFloat)[i].tensor)) << implementation;
  }
}

TEST(AdamW, AStateThatDoesNotFitChangesNothing) {
  const auto groups = toy_groups(torch::kFloat);
  AdamW optimizer(groups, {});
  set_gradients(groups, 1);
  optimizer.step(0.01);
  std::map<std::string, torch::Tensor> before, wrong;
  for (const auto& [name, tensor] : optimizer.state()) {
    before[name] = tensor.clone();
    wrong[name] = tensor + 1;
  }
  wrong["v.w"] = torch::ones({3});  // the last in the order of the names
  EXPECT_THROW(optimizer.load_state(wrong), UserError);
  for (const auto& [name, tensor] : optimizer.state())
    EXPECT_TRUE(tensor.equal(before.at(name))) << name;
}

TEST(AdamW, LeavesWeightsWithoutGradientAlone) {
  for (const std::string implementation : {"plain", "fused"}) {
    const auto groups = toy_groups(torch::kFloat);
    const auto b = groups[1].tensor.detach().clone();
    set_gradients({groups[0]}, 1);
    AdamW(groups, {.implementation = implementation}).step(0.01);
    EXPECT_TRUE(groups[1].tensor.equal(b));
  }
}

}  // namespace
}  // namespace normbench
