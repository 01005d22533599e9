// Initialisation: from the seed and the name alone, as the papers say.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <utility>

#include "models/layers.h"
#include "models/testing/small_model.h"

namespace normbench {
namespace {

using namespace testing::small_model;

TEST(Models, StartFromTheSeedAndTheNameAlone) {
  const auto first = make("angpt", kSmall);
  make("ngpt", kSmall)->reset_parameters(3);  // other models and earlier draws leave no trace
  const auto second = make("angpt", kSmall);
  second->reset_parameters(1);
  second->reset_parameters(7);
  first->reset_parameters(7);
  ModelSize deeper = kSmall;
  deeper.num_layers = 3;
  const auto third = make("angpt", deeper);
  third->reset_parameters(7);
  const auto a = parameters_of(*first), b = parameters_of(*second), c = parameters_of(*third);
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(tensor.equal(b.at(name))) << name;
    EXPECT_TRUE(tensor.equal(c.at(name))) << name;
  }
  second->reset_parameters(8);
  EXPECT_FALSE(a.at("embed.weight").equal(parameters_of(*second).at("embed.weight")));
}

TEST(Models, TwoArmsWithTheSameRuleStartEqual) {
  const auto initial = [](const std::string& name, const Json& options = Json::object()) {
    const auto model = make(name, kSmall, options);
    model->reset_parameters(7);
    return parameters_of(*model);
  };
  const auto gpt_plus = initial("gpt_plus"), llama = initial("llama_prenorm");
  for (const auto& [name, tensor] : llama) EXPECT_TRUE(tensor.equal(gpt_plus.at(name))) << name;
  const auto ngpt = initial("ngpt"), angpt = initial("angpt");
  for (const auto& [name, tensor] : angpt) {
    if (tensor.dim() != 2) continue;
    // Same numbers, normalised along another axis for the two projections into the stream.
    EXPECT_EQ(tensor.equal(ngpt.at(name)), !writes_residual(name)) << name;
  }
}

TEST(Models, NormalisedArmsStartOnTheirConstraint) {
  for (const std::string name : {"ngpt", "angpt"}) {
    const auto model = make(name, kSmall);
    model->reset_parameters(7);
    for (const auto& group : model->parameter_groups()) {
      ASSERT_EQ(group.constraint == RowConstraint::kNone, group.tensor.dim() != 2) << group.name;
      if (group.tensor.dim() != 2) continue;
      const int64_t axis = name == "ngpt" && writes_residual(group.name) ? 0 : 1;
      EXPECT_EQ(group.axis, axis) << group.name;
      const auto error = (group.tensor.to(torch::kDouble).norm(2, {axis}) - 1).abs().max();
      EXPECT_LT(error.item<double>(), 2e-7)
          << group.name;  // one rounding of fp32, 1.2e-7, in each entry
    }
  }
}

TEST(Decoders, StartAsTheirPapersSay) {
  ModelSize size = kSmall;
  size.width = 256;
  size.num_heads = 4;
  size.mlp_width = 512;
  const auto initial = [&](const std::string& name, const Json& options = Json::object()) {
    const auto model = make(name, size, options);
    model->reset_parameters(7);
    return parameters_of(*model);
  };
  // 65536 draws or more (embeddings: 7424): the standard error is 1 / sqrt(2 n), 0.3 % (0.8 %).
  const auto expect_std = [](const torch::Tensor& w, double expected) {
    EXPECT_NEAR(w.std().item<double>(), expected, 0.03 * expected);
  };
  auto p = initial("simplegpt");
  expect_std(p.at("embed.weight"), 1);
  expect_std(p.at("blocks.1.attn.q.weight"), 0.02);
  expect_std(p.at("blocks.1.mlp.gate.weight"), 0.02);
  for (const std::string name : {"attn.o", "mlp.up", "mlp.down"}) {
    expect_std(p.at("blocks.0." + name + ".weight"), 0.02 / std::sqrt(2.0));
    expect_std(p.at("blocks.1." + name + ".weight"), 0.02 / 2);
  }
  EXPECT_LE(p.at("head.weight").abs().max().item<double>(), 3.0 / 16);
  EXPECT_GT(p.at("head.weight").abs().max().item<double>(), 2.8 / 16);
  const auto baseline = initial("llama_prenorm", {{"init", "torchtitan"}});
  for (const auto& [name, tensor] : baseline) {
    if (tensor.dim() == 2) {
      EXPECT_TRUE(tensor.equal(p.at(name))) << name;
    }
  }

  p = initial("deepnorm");
  const double beta = std::pow(16.0, -0.25);
  expect_std(p.at("blocks.1.attn.q.weight"), 1.0 / 16);
  expect_std(p.at("blocks.1.attn.v.weight"), beta / 16);
  expect_std(p.at("blocks.0.mlp.up.weight"), beta * std::sqrt(2.0 / (256 + 512)));
  p = initial(
      "deepnorm",
      {{"init", "torchscale"}, {"norm", "layernorm"}, {"bias", true}, {"gated_mlp", false}});
  expect_std(p.at("blocks.0.mlp.down.weight"), beta / std::sqrt(3.0 * 512));
  EXPECT_NEAR(p.at("blocks.0.mlp.up.bias").std().item<double>(), beta / std::sqrt(3.0 * 256),
              0.15 * beta / std::sqrt(3.0 * 256));  // 512 draws: 3 %
  EXPECT_EQ(p.at("blocks.0.mlp.norm.bias").abs().max().item<double>(), 0);

  p = initial("lnscaling");
  expect_std(p.at("blocks.1.mlp.down.weight"), 0.04);  // no factor of depth
  p = initial("nanogpt", {{"init", "literal"}, {"bias", true}});
  expect_std(p.at("blocks.1.mlp.down.weight"), 0.01);
  expect_std(p.at("pos.weight"), 0.02);
  EXPECT_EQ(p.at("blocks.1.mlp.down.bias").abs().max().item<double>(), 0);
  EXPECT_EQ(p.count("head.weight"), 0u);

  const auto alphas = [&](int64_t width, const Json& options = Json::object()) {
    ModelSize narrow = kSmall;
    narrow.width = width;
    narrow.head_width = 8;  // small matrices at any width
    const auto model = make("dyt", narrow, options);
    model->reset_parameters(7);
    const auto all = parameters_of(*model);
    EXPECT_FLOAT_EQ(all.at("embed.scale").item<float>(), std::sqrt(static_cast<float>(width)));
    return std::pair(all.at("blocks.1.attn.norm.alpha").item<float>(),
                     all.at("blocks.1.mlp.norm.alpha").item<float>());
  };
  // Truth: arXiv 2503.10622, Table 11, and Table 10 for 5120.
  EXPECT_EQ(alphas(64), std::pair(1.0f, 1.0f));
  EXPECT_EQ(alphas(1024), std::pair(1.0f, 1.0f));
  EXPECT_EQ(alphas(2048), std::pair(1.0f, 0.5f));
  EXPECT_EQ(alphas(4096), std::pair(0.8f, 0.2f));
  EXPECT_EQ(alphas(5120), std::pair(0.6f, 0.15f));
  EXPECT_EQ(alphas(64, {{"norm", "derf"}}), std::pair(0.5f, 0.5f));
  EXPECT_EQ(alphas(64, {{"alpha_other_init", 0.25}}), std::pair(1.0f, 0.25f));
}

TEST(GptPlus, StartsWithTheStandardDeviationOfItsRule) {
  const auto deviation = [](const Json& options, const std::string& name) {
    ModelSize size = kSmall;
    size.width = 256;
    size.num_heads = 4;
    size.mlp_width = 1024;
    const auto model = make("gpt_plus", size, options);
    model->reset_parameters(7);
    return parameters_of(*model).at(name).std().item<double>();
  };
  const Json scaled = Json::object(), literal = {{"init", "literal"}};
  // 65536 draws: the standard error of a standard deviation is 1 / sqrt(2 n) = 0.3 % of it.
  EXPECT_NEAR(deviation(scaled, "blocks.0.attn.q.weight"), 0.04, 0.04 * 0.01);
  EXPECT_NEAR(deviation(scaled, "blocks.0.attn.o.weight"), 0.04 / 2, 0.02 * 0.01);
  EXPECT_NEAR(deviation(literal, "blocks.0.attn.q.weight"), 0.02, 0.02 * 0.01);
  EXPECT_NEAR(deviation(literal, "blocks.0.mlp.down.weight"), 0.02 / 2, 0.01 * 0.01);
}

}  // namespace
}  // namespace normbench
