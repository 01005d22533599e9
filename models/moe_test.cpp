// Layers of experts: what the golden files do not pin. Truth: the sum over all experts. Values and
// gradients: parity.
#include "models/moe.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/testing/small_hybrid.h"

namespace normbench {
namespace {

using namespace testing::small_hybrid;

Moe expert_layer(const MoeOptions& moe_options = {.num_experts = 6, .top_k = 2, .expert_width = 16},
                 const MoeForm& form = {}) {
  auto options = moe_options;
  options.resolve(24);
  Moe moe(24, options, form);
  torch::manual_seed(5);
  torch::NoGradGuard no_grad;
  for (auto& p : moe->parameters()) p.normal_(0, 0.4);
  moe->reset_router_();
  moe->to(kDouble);
  return moe;
}

/// (3) of moe.h with every expert computing every token.
torch::Tensor dense(MoeImpl& moe, const torch::Tensor& x) {
  const auto routing = moe.route(x);
  const auto weights = torch::zeros_like(routing.scores).scatter(-1, routing.ids, routing.weights);
  auto y = moe.shared->forward(x);
  for (size_t e = 0; e < moe.experts.size(); ++e)
    y = y + weights.select(-1, static_cast<int64_t>(e)).unsqueeze(-1) *
                moe.experts[e]->forward(x, moe.scales);
  return y;
}

TEST(Moe, SortedTokensGiveTheSumOverAllExperts) {
  const auto x = torch::randn({2, 33, 24}, kDouble);
  for (const std::string activation : {"relu2", "swiglu"}) {
    for (const int64_t k : {1, 2, 6}) {
      auto a = expert_layer({.num_experts = 6, .top_k = k, .expert_width = 16},
                            {.activation = activation});
      auto b = expert_layer({.num_experts = 6, .top_k = k, .expert_width = 16},
                            {.activation = activation});
      // Expert 3 is never chosen (unless all are), expert 0 always: no limit, none dropped.
      for (auto* m : {&a, &b}) {
        torch::NoGradGuard no_grad;
        (*m)->router->bias[3] = -10;
        (*m)->router->bias[0] = 10;
      }
      const auto xa = x.clone().requires_grad_(), xb = x.clone().requires_grad_();
      const auto ya = a->forward(xa), yb = dense(*b, xb);
      EXPECT_LT(largest(ya - yb), 1e-12 * largest(yb)) << activation << " " << k;
      const auto cotangent = torch::randn(ya.sizes(), kDouble);
      (ya * cotangent).sum().backward();
      (yb * cotangent).sum().backward();
      EXPECT_LT(largest(xa.grad() - xb.grad()), 1e-12 * largest(xb.grad()));
      const auto theirs = b->named_parameters();
      for (const auto& item : a->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        const auto grad = theirs[item.key()].grad();
        EXPECT_LT(largest(item.value().grad() - grad), 1e-12 * (largest(grad) + 1e-3))
            << item.key();
      }
    }
  }
}

TEST(Moe, TheBiasChoosesAndDoesNotWeigh) {
  auto moe = expert_layer();
  const auto x = torch::randn({3, 8, 24}, kDouble);
  const auto before = moe->route(x);
  {
    torch::NoGradGuard no_grad;
    moe->router->bias[4] = 10;
  }
  const auto after = moe->route(x);
  EXPECT_FALSE(before.ids.equal(after.ids));
  EXPECT_TRUE((after.ids == 4).any(-1).all().item<bool>());
  EXPECT_TRUE(after.scores.equal(before.scores));
  EXPECT_LT(largest(after.weights.sum(-1) - 2.5), 1e-12);  // p / sum p * 2.5, whatever the bias
  const auto p = after.scores.gather(-1, after.ids);
  EXPECT_LT(largest(after.weights - 2.5 * p / p.sum(-1, true)), 1e-12);
  EXPECT_TRUE((after.ids.diff() > 0).all().item<bool>());  // ascending, so all different
}

TEST(Moe, EqualScoresChooseTheFirstExperts) {
  const auto ids = select_experts(torch::full({2, 3, 7}, 0.5), 3);
  EXPECT_TRUE(ids.equal(torch::arange(3).expand({2, 3, 3})));
}

TEST(Moe, CountsTrainingTokensUntilTheStepAndMovesTheBiasAgainstTheLoad) {
  const auto model = make("ngpt_hybrid", with(kMixed, {{"top_k", 3}}));
  auto& moe = *model->named_modules()["blocks.1.moe"]->as<MoeImpl>();
  const auto x = tokens(5), y = tokens(11);
  const double tokens_seen = 2 * 2 * static_cast<double>(kSmall.context);
  {
    torch::NoGradGuard evaluation;
    model->loss(x, y);
  }
  model->logits(x);
  EXPECT_EQ(largest(moe.router->counts), 0);
  model->after_step();  // without tokens nothing moves
  EXPECT_EQ(largest(moe.router->bias), 0);
  model->loss(x, y).backward();
  model->loss(y, x).backward();  // a second micro-batch
  const auto counts = moe.router->counts.clone();
  EXPECT_EQ(counts.sum().item<double>(), 3 * tokens_seen);
  model->after_step();
  const auto expected = 1e-3 * (counts.mean() - counts).sign();
  EXPECT_LT(largest(moe.router->bias - expected), 1e-18);
  EXPECT_GT(largest(moe.router->bias), 0);
  EXPECT_EQ(largest(moe.router->counts), 0);
  EXPECT_LT(largest(moe.load - counts / counts.sum()), 1e-15);
  // The busiest expert is chosen less, the idlest more.
  EXPECT_LT(moe.router->bias[counts.argmax().item<int64_t>()].item<double>(), 0);
  EXPECT_GT(moe.router->bias[counts.argmin().item<int64_t>()].item<double>(), 0);
  model->reset_parameters(7);
  EXPECT_EQ(largest(moe.router->bias), 0);
}

TEST(Moe, AnExpertAtTheMeanLoadStays) {
  const auto counts = torch::tensor({2.0, 4.0, 6.0}, kDouble);
  const auto bias = updated_bias(torch::zeros({3}, kDouble), counts, 0.5);
  EXPECT_TRUE(bias.equal(torch::tensor({0.5, 0.0, -0.5}, kDouble)));
}

TEST(Moe, TheBalanceLossAddsItsGradientAndNotItsValue) {
  const auto x = tokens(5), y = tokens(11);
  const auto run = [&](double coefficient) {
    const auto model = make("ngpt_hybrid", with(kMixed, {{"balance_coefficient", coefficient}}));
    const auto loss = model->loss(x, y);
    loss.backward();
    return std::pair(loss.item<double>(),
                     model->named_parameters()["blocks.1.moe.router.weight"].grad());
  };
  const auto [without, plain] = run(0);
  const auto [with_it, moved] = run(0.1);
  EXPECT_EQ(without, with_it);
  EXPECT_GT(largest(moved - plain), 1e-6);
  // Perfect balance has the least value, 1: f and P are all 1 / E of E.
  const auto ids = torch::arange(6).view({1, 6, 1});
  const auto even = torch::full({1, 6, 6}, 0.25, kDouble);
  EXPECT_NEAR(sequence_balance(even, ids).item<double>(), 1, 1e-14);
  const auto one = torch::zeros({1, 6, 1}, torch::kLong);
  const auto steep = torch::eye(6, kDouble)[0].expand({1, 6, 6});
  EXPECT_NEAR(sequence_balance(steep, one).item<double>(), 6, 1e-14);
}

TEST(Moe, ASingleExpertHasNoSpreadOfScoresAndNoNan) {
  const auto model =
      make("hybrid_prenorm", with(kMixed, {{"pattern", "E"}, {"num_experts", 1}, {"top_k", 1}}));
  model->loss(tokens(5), tokens(11)).backward();
  const auto& moe = *model->named_modules()["blocks.0.moe"]->as<MoeImpl>();
  EXPECT_EQ(moe.score_spread.item<double>(), 0);
}

}  // namespace
}  // namespace normbench
