// Probes: what they say of models whose answer is known, and what they refuse.
#include "suite/train/probes.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "suite/train/device.h"
#include "suite/train/run_config.h"
#include "suite/train/testing/tokens.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

class ProbesTest : public ::testing::Test {
 protected:
  ProbesTest() { fix_arithmetic(1); }

  Training training(const std::string& model, const Json& options = Json::object()) const {
    Json json = testing::micro_config(model);
    json["model_options"] = options;
    json["size"]["mlp_width"] = 128;  // 4 D, for which nu_acf was made
    return Training(read_run_config(json, "test"));
  }
  Json at_start(Training& t, const std::vector<std::string>& probes) const {
    return probe_at_start(*t.model, *t.optimizer, probes, slice_.windows(0, 2), torch::kCPU);
  }

  const testing::CountingTokens source_;
  const ValidationSlice slice_{source_, 32, 128};
};

TEST_F(ProbesTest, TheStreamOfNgptHasNormOneAndThatOfGptPlusGrows) {
  auto ngpt = training("ngpt"), gpt_plus = training("gpt_plus");
  const Json sphere = at_start(ngpt, {"residual_norm"})["residual_norm"],
             free = at_start(gpt_plus, {"residual_norm"})["residual_norm"];
  ASSERT_EQ(sphere["mean"].size(), 2u);  // layers
  for (const auto& mean : sphere["mean"]) EXPECT_NEAR(mean.get<double>(), 1, 1e-6);
  for (const auto& sd : sphere["sd"]) EXPECT_LT(sd.get<double>(), 1e-6);
  EXPECT_GT(free["mean"][1].get<double>(), free["mean"][0].get<double>());
  EXPECT_GT(free["sd"][0].get<double>(), 1e-3);
}

TEST_F(ProbesTest, AnOptimizerThatHasMadeNoStepHasNothingToSay) {
  auto model = training("ngpt");
  EXPECT_EQ(at_start(model, {"optimizer"}), Json::object());
}

TEST_F(ProbesTest, OneTokenRepeatedHasTheSameNormAtEveryPosition) {
  // Values of equal keys average to themselves, whatever the weights; the position only turns q, k.
  auto model = training("gpt_plus");
  Json norms = at_start(model, {"residual_norm_repeated"})["residual_norm_repeated"];
  // Two windows, two tokens: all the spread is between them, and far below that of real text.
  const Json text = at_start(model, {"residual_norm"})["residual_norm"];
  EXPECT_LT(norms["sd"][1].get<double>(), text["sd"][1].get<double>());
}

/// Predicts the token that came after the last earlier occurrence of the present one, and all
/// tokens alike where there is none: what an induction head does, as a rule.
class Copier : public Model {
 public:
  torch::Tensor logits(const torch::Tensor& tokens, std::vector<torch::Tensor>*) override {
    auto logits = torch::zeros({tokens.size(0), tokens.size(1), 97});
    for (int64_t b = 0; b < tokens.size(0); ++b)
      for (int64_t t = 0; t < tokens.size(1); ++t)
        for (int64_t earlier = 0; earlier < t; ++earlier)
          if (tokens[b][earlier].item<int64_t>() == tokens[b][t].item<int64_t>())
            logits[b][t][tokens[b][earlier + 1].item<int64_t>()] = 50;
    return logits;
  }
  torch::Tensor loss(const torch::Tensor&, const torch::Tensor&) override { return {}; }
  void reset_parameters(uint64_t) override {}
  std::vector<ParameterGroup> parameter_groups() override { return {}; }
};

TEST_F(ProbesTest, OnlyAModelThatCopiesHasALowerLossOnARepeatedHalf) {
  auto untrained = training("gpt_plus");
  const double uniform = std::log(97.0);
  // No token of the counting text stands twice in a window.
  Copier copier;
  const Json copies = probe(copier, *untrained.optimizer, {"copying"}, slice_.windows(0, 2),
                            torch::kCPU)["copying"];
  EXPECT_NEAR(copies["first"].get<double>(), uniform, 1e-5);
  EXPECT_NEAR(copies["following"].get<double>(), uniform, 1e-5);
  EXPECT_LT(copies["repeated"].get<double>(), 1e-5);

  // In a text that repeats itself every half window, what follows can be copied as well.
  Batch loop = slice_.windows(0, 2);
  for (size_t i = 0; i < loop.tokens.size(); ++i)  // windows of 32 tokens and the one after them
    loop.tokens[i] = static_cast<int64_t>(i % 33 % 16);
  const Json looped =
      probe(copier, *untrained.optimizer, {"copying"}, loop, torch::kCPU)["copying"];
  EXPECT_NEAR(looped["first"].get<double>(), uniform, 1e-5);
  EXPECT_LT(looped["following"].get<double>(), 1e-5);

  const Json none = at_start(untrained, {"copying"})["copying"];
  EXPECT_NEAR(none["repeated"].get<double>(), none["first"].get<double>(), 0.3);
}

TEST_F(ProbesTest, StepSizesStartWhereTheOptionSaysAndTheBranchRatioOfAngptIsNearOne) {
  auto angpt = training("angpt", {{"alpha_init", 0.07}});
  const Json seen = at_start(angpt, {"model", "branch_ratio"});
  for (const char* site : {"attn.alpha", "mlp.alpha"})
    for (const auto& alpha : seen["model"][site]) EXPECT_NEAR(alpha.get<double>(), 0.07, 1e-6);
  // The factors nu are there to keep norms: 4.2 of the paper. At width 32 with two heads roughly.
  for (const auto& ratio : seen["branch_ratio"]["mlp"]) EXPECT_NEAR(ratio.get<double>(), 1, 0.35);
  auto halved = training("angpt", {{"nu_factor", 0.5}});
  const Json half = at_start(halved, {"branch_ratio"})["branch_ratio"];
  EXPECT_LT(half["mlp"][0].get<double>(), 0.6);
}

TEST_F(ProbesTest, RowsOfAngptStartAtNormOne) {
  auto angpt = training("angpt");
  const Json norms = at_start(angpt, {"row_norm"})["row_norm"];
  EXPECT_EQ(norms.size(), 2u + 7);  // embedding, head, and seven matrices of each layer
  EXPECT_EQ(norms["attn.q.weight"].size(), 2u);
  for (const auto& [pointer, norm] : norms.flatten().get<Json::object_t>())
    EXPECT_NEAR(norm.get<double>(), 1, 1e-6) << pointer;
}

TEST_F(ProbesTest, AStackOfMamba2SpeaksBeforeItsFirstStep) {
  for (const auto& [model, options] :
       {std::pair<std::string, Json>("mamba2", Json::object()),
        std::pair<std::string, Json>("hybrid_prenorm", {{"pattern", "M*"}})}) {
    auto t = training(model, options);
    const Json seen = at_start(t, {"model"})["model"];
    EXPECT_EQ(seen["blocks.0.mamba.dt"].size(), 3u) << model;  // mean, least, largest
  }
}

TEST_F(ProbesTest, WhatAModelCannotSayIsRefusedBeforeTraining) {
  auto dyt = training("dyt");
  EXPECT_THROW(at_start(dyt, {"branch_ratio"}), UserError);
  EXPECT_THROW(at_start(dyt, {"model"}), UserError);
  Json json = testing::micro_config();
  json["probes"] = {"residual_nrom"};
  try {
    read_run_config(json, "test");
    ADD_FAILURE() << "accepted";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean \"residual_norm\"?"), std::string::npos);
  }
}

TEST_F(ProbesTest, ANumberThatIsNotFiniteStopsARunBeforeItsFirstStep) {
  auto model = training("gpt_plus");
  {
    torch::NoGradGuard no_grad;
    model.groups[0].tensor.fill_(std::numeric_limits<float>::quiet_NaN());
  }
  EXPECT_THROW(at_start(model, {"residual_norm"}), UserError);
  // In the middle of a run it is a hole in the record.
  const Json later =
      probe(*model.model, *model.optimizer, {"residual_norm"}, slice_.windows(0, 2), torch::kCPU);
  EXPECT_TRUE(later["residual_norm"]["mean"][0].is_null());
}

}  // namespace
}  // namespace normbench
