// The hybrid on the unit sphere: what the golden files do not pin. Values and gradients: parity.
#include "models/ngpt_hybrid.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "models/ngpt.h"
#include "models/testing/small_hybrid.h"

namespace normbench {
namespace {

using namespace testing::small_hybrid;

TEST(NgptHybrid, StartsOnItsConstraint) {
  for (const bool swiglu : {true, false})
    for (const bool router : {true, false}) {
      const auto model =
          make("ngpt_hybrid", with(kMixed, {{"s_uv", true},
                                            {"router_normalised", router},
                                            {"activation", swiglu ? "swiglu" : "relu2"}}));
      int64_t matrices = 0;
      for (const auto& group : model->parameter_groups()) {
        const bool matrix = group.tensor.dim() == 2 && !is_named(group.name, "qk_scale");
        const bool free = !router && is_named(group.name, "router.weight");
        EXPECT_EQ(group.constraint == RowConstraint::kUnit, matrix && !free) << group.name;
        EXPECT_EQ(group.decay, matrix) << group.name;
        if (!matrix || free) continue;
        ++matrices;
        EXPECT_EQ(group.axis, hybrid_writes_residual(group.name) ? 0 : 1) << group.name;
        EXPECT_EQ(group.tensor.size(group.axis), kSmall.width) << group.name;  // along D
        // Drawn in fp32: one rounding of 1.2e-7 in each entry.
        EXPECT_LT(largest(group.tensor.norm(2, {group.axis}) - 1), 2e-7) << group.name;
      }
      // embed, head; 2 Mamba of 2; 2 MoE of a router, 5 experts and a shared one; attention; an
      // MLP.
      const int64_t expert = swiglu ? 3 : 2;
      EXPECT_EQ(matrices, 2 + 2 * 2 + 2 * ((router ? 1 : 0) + 6 * expert) + 4 + expert);
    }
}

// relu^2 is homogeneous and the branch is normalised: a common factor of all hidden vectors is
// dead, a vector is not.
TEST(NgptHybrid, ACommonFactorOfTheHiddenVectorsIsDead) {
  const auto options = with(kMixed, {{"pattern", "E-"}, {"s_uv", true}});
  const auto model = make("ngpt_hybrid", options);
  const auto before = model->logits(tokens(5));
  torch::NoGradGuard no_grad;
  const auto scale = [&](const torch::Tensor& by, const std::string& leaf) {
    for (auto& item : model->named_parameters())
      if (is_named(item.key(), leaf)) item.value().mul_(by.defined() ? by : torch::tensor(3.0));
  };
  scale({}, "scale_up");
  EXPECT_LT(largest(model->logits(tokens(5)) - before), 1e-12);
  scale(torch::linspace(0.5, 1.5, 16, kDouble), "moe.scale_up");
  EXPECT_GT(largest(model->logits(tokens(5)) - before), 1e-3);
}

/// Copies parameter by parameter what `to` has under `prefix_to` from `from`.
void copy_weights(Model& to, const std::string& prefix_to, Model& from,
                  const std::string& prefix_from) {
  torch::NoGradGuard no_grad;
  const auto theirs = from.named_parameters();
  for (auto& item : to.named_parameters())
    if (item.key().starts_with(prefix_to))
      item.value().copy_(theirs[prefix_from + item.key().substr(prefix_to.size())]);
}

// Truth: (20, 21) of nGPT, which ngpt.h computes and its golden files pin.
TEST(NgptHybrid, TheSwigluMlpIsThatOfNgpt) {
  for (const double init : {1.0, 1.5}) {
    const auto hybrid = make("ngpt_hybrid", with(kMixed, {{"pattern", "-"},
                                                          {"activation", "swiglu"},
                                                          {"s_uv", true},
                                                          {"s_uv_init", init},
                                                          {"s_uv_scale", 0.5}}));
    const auto ngpt = make("ngpt", {{"sqrt_d_on", "gate"}, {"suv_init", init}, {"suv_scale", 0.5}});
    copy_weights(*hybrid, "blocks.0.mlp.", *ngpt, "blocks.0.mlp.");
    {
      torch::NoGradGuard no_grad;  // so that no factor is lost among equal ones
      for (const char* leaf : {"scale_up", "scale_gate"})
        for (auto* model : {hybrid.get(), ngpt.get()}) {
          auto scale = model->named_parameters()[std::string("blocks.0.mlp.") + leaf];
          scale.mul_(torch::linspace(leaf[6] == 'u' ? 0.5 : 2, 1.5, 34, kDouble));
        }
    }
    const auto h = torch::randn({2, 12, 24}, kDouble);
    const auto ours =
        hybrid->named_modules()["blocks.0"]->as<NgptHybridBlockImpl>()->mixer(h, nullptr);
    const auto theirs = ngpt->named_modules()["blocks.0"]->as<NgptBlockImpl>()->mlp->forward(h);
    EXPECT_LT(largest(ours - theirs), 1e-13 * largest(theirs)) << init;  // sums of 34 terms
  }
}

TEST(NgptHybrid, SwigluExpertsShareTheirScalesAndSeeAFactorOfTheGateOnly) {
  const auto options = with(kMixed, {{"pattern", "E"}, {"activation", "swiglu"}, {"s_uv", true}});
  const auto model = make("ngpt_hybrid", options);
  int64_t scales = 0;
  for (const auto& item : model->named_parameters())
    scales += is_named(item.key(), "scale_up") || is_named(item.key(), "scale_gate");
  EXPECT_EQ(scales,
            kSmall.num_layers * 2 * 2);  // two vectors of the experts, two of the shared one
  const auto plain = make("ngpt_hybrid", with(options, {{"s_uv", false}}));
  copy_weights(*plain, "", *model, "");
  const auto before = model->logits(tokens(5));
  // Stored scales start at 1, and that is what s_uv = false means.
  EXPECT_LT(largest(plain->logits(tokens(5)) - before), 1e-12);
  torch::NoGradGuard no_grad;
  const auto scale = [&](const std::string& leaf) {
    for (auto& item : model->named_parameters())
      if (is_named(item.key(), leaf)) item.value().mul_(3);
  };
  scale("scale_up");
  EXPECT_LT(largest(model->logits(tokens(5)) - before), 1e-12);
  scale("scale_gate");
  EXPECT_GT(largest(model->logits(tokens(5)) - before), 1e-3);
}

TEST(NgptHybrid, SwigluGatesStartWithSizeOne) {
  ModelSize size = kSmall;
  size.width = 256;
  size.mlp_width = 512;
  const auto model = make("ngpt_hybrid", {{"pattern", "-"}, {"activation", "swiglu"}}, size);
  auto& mlp = *model->named_modules()["blocks.0.mlp"]->as<FeedForwardImpl>();
  torch::manual_seed(3);
  const auto h = ops::l2_norm(torch::randn({16, 256}, kDouble));
  EXPECT_DOUBLE_EQ(mlp.form.gate_factor, 16);
  // 16 tokens times 512 rows: the standard error of a standard deviation is 1 / sqrt(2 * 512 * 16).
  const auto gate = mlp.form.gate_factor * ops::linear(h, mlp.gate->weight);
  EXPECT_NEAR(gate.std().item<double>(), 1, 0.05);
}

TEST(NgptHybrid, ScalesStartSoThatPreActivationsHaveSizeOne) {
  ModelSize size = kSmall;
  size.width = 256;
  const auto model = make("ngpt_hybrid", with(kMixed, {{"num_experts", 64}}), size);
  std::map<std::string, torch::Tensor> seen;
  model->loss(tokens(5), tokens(11)).backward();
  model->after_step();
  for (const auto& [name, value] : model->diagnostics()) seen[name] = value;
  EXPECT_DOUBLE_EQ(seen.at("blocks.0.mamba.s_mamba").item<double>(), 16);
  EXPECT_DOUBLE_EQ(seen.at("blocks.1.moe.s_moe").item<double>(), 16);
  EXPECT_EQ(seen.at("blocks.1.moe.load").sizes(), at::IntArrayRef({64}));
  EXPECT_NEAR(seen.at("blocks.1.moe.load").sum().item<double>(), 1, 1e-12);
  EXPECT_NEAR(largest(seen.at("blocks.1.moe.bias")), 1e-3, 1e-9);
  // sigmoid of N(0, 1) has standard deviation 0.208.
  EXPECT_NEAR(seen.at("blocks.1.moe.score_spread").item<double>(), 0.208, 0.02);
  const auto dt = seen.at("blocks.0.mamba.dt");
  EXPECT_GT(dt[0].item<double>(), dt[1].item<double>());
  EXPECT_LT(dt[0].item<double>(), dt[2].item<double>());
  EXPECT_EQ(find_model("llama_prenorm")
                .make(kSmall, JsonObject(Json::object(), "test"))
                ->diagnostics()
                .size(),
            0u);
}

TEST(NgptHybrid, LgpKeepsTheLossAndChangesGradients) {
  const auto run = [&](const Json& more) {
    const auto model = make("ngpt_hybrid", with(kMixed, more));
    torch::NoGradGuard off;
    model->named_parameters()["head.scale"].mul_(torch::linspace(0.5, 2, 29, kDouble));
    at::AutoGradMode on(true);
    const auto loss = model->loss(tokens(5), tokens(11));
    loss.backward();
    return std::pair(loss.item<double>(), model->named_parameters()["head.weight"].grad());
  };
  const auto [plain, grad] = run(Json::object());
  const auto [same, other] = run({{"lgp", true}, {"lgp_q", 0.5}});
  EXPECT_NEAR(plain, same, 1e-13);
  EXPECT_GT(largest(grad - other), 1e-6);
}

}  // namespace
}  // namespace normbench
