// The cost of a token against counts by hand, for each way in which a model can leave weights idle.
#include "suite/app/token_cost.h"

#include <gtest/gtest.h>

namespace normbench {
namespace {

// 4 layers, D = 64, 2 heads of 32, T = 128, V = 1024.
Json config(const std::string& model, const Json& options = Json::object()) {
  return {{"model", model},
          {"model_options", options},
          {"size",
           {{"num_layers", 4},
            {"width", 64},
            {"num_heads", 2},
            {"head_width", 32},
            {"mlp_width", 256},
            {"context", 128},
            {"vocabulary", 1024}}}};
}

TEST(TokenCost, OfADenseModelLeavesOutTheInputEmbeddingAlone) {
  const TokenCost cost = token_cost(config("angpt"));
  EXPECT_EQ(cost.idle_parameters, 1024 * 64);
  EXPECT_EQ(cost.attention_flops, 6 * 4 * 128 * 64);
}

TEST(TokenCost, ATiedEmbeddingWorksAndLearnedPositionsDoNot) {
  EXPECT_EQ(token_cost(config("llama_prenorm", {{"tied_embeddings", true}})).idle_parameters, 0);
  EXPECT_EQ(token_cost(config("nanogpt")).idle_parameters, 128 * 64);
}

TEST(TokenCost, OfAHybridCountsTheChosenExpertsAndItsLayersOfAttention) {
  // MEM*: one layer of experts of .69 * 64 -> 48 and two matrices, 16 - 2 of them idle; one of
  // attention.
  const Json options = {
      {"pattern", "MEM*"}, {"num_experts", 16}, {"top_k", 2}, {"expert_width", 0}};
  const TokenCost cost = token_cost(config("ngpt_hybrid", options));
  EXPECT_EQ(cost.idle_parameters, 1024 * 64 + 2 * 14 * 64 * 48);
  EXPECT_EQ(cost.attention_flops, 6 * 1 * 128 * 64);
  Json gated = options;
  gated["activation"] = "swiglu";
  EXPECT_EQ(token_cost(config("ngpt_hybrid", gated)).idle_parameters, 1024 * 64 + 3 * 14 * 64 * 48);
  EXPECT_EQ(token_cost(config("mamba2")).attention_flops, 0);
}

}  // namespace
}  // namespace normbench
