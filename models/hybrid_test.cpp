// Mamba-2 and the two hybrids: what the golden files do not pin. Truth of each case: the
// recurrence, the papers' counts. Values and gradients: parity.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "models/layers.h"
#include "models/mamba2.h"
#include "models/testing/small_hybrid.h"

namespace normbench {
namespace {

using namespace testing::small_hybrid;

Mamba2 mixer(const Json& options = {{"chunk", 4}}) {
  auto o = read_options<Mamba2Options>(JsonObject(
      with({{"d_state", 6}, {"num_groups", 2}, {"ssm_heads", 4}, {"ssm_head_width", 8}}, options),
      "test"));
  o.resolve(24);
  Mamba2 m(24, o, Mamba2Form{.norm_groups = 2});
  torch::manual_seed(3);
  m->reset_vectors_(7, "");
  {
    torch::NoGradGuard no_grad;
    m->in_proj->weight.normal_(0, 0.5);
    m->out_proj->weight.normal_(0, 0.5);
  }
  m->to(kDouble);
  return m;
}

TEST(Mamba2, StreamedTokensGiveWhatTheParallelFormGives) {
  auto m = mixer();
  const auto u = torch::randn({2, 13, 24}, kDouble);
  const auto whole = m->forward(u);
  Mamba2State state;
  std::vector<torch::Tensor> y = {m->forward(u.narrow(1, 0, 6), &state)};  // a prompt of 6
  for (int64_t t = 6; t < 13; ++t) y.push_back(m->forward(u.narrow(1, t, 1), &state));
  EXPECT_LT(largest(torch::cat(y, 1) - whole), 1e-12);  // double, sums of at most 13 * 24 terms
  // From the first token on, when it is a prompt of one.
  Mamba2State fresh;
  y.clear();
  for (int64_t t = 0; t < 13; ++t) y.push_back(m->forward(u.narrow(1, t, 1), &fresh));
  EXPECT_LT(largest(torch::cat(y, 1) - whole), 1e-12);
  // Without the state a token is another text's first.
  EXPECT_GT(largest(m->forward(u.narrow(1, 12, 1)) - whole.narrow(1, 12, 1)), 1e-3);
}

TEST(Mamba2, StartsAsMambaSsmDoes) {
  auto m = Mamba2(
      24,
      [] {
        Mamba2Options o{.num_groups = 1, .ssm_heads = 512, .ssm_head_width = 1};
        o.resolve(24);
        return o;
      }(),
      Mamba2Form{});
  m->reset_vectors_(7, "x.");
  const auto A = m->A_log.exp(), dt = torch::softplus(m->dt_bias), w = m->conv->weight;
  EXPECT_GE(A.min().item<double>(), 1 - 1e-6);
  EXPECT_LE(A.max().item<double>(), 16 + 1e-5);
  EXPECT_NEAR(A.mean().item<double>(), 8.5, 0.8);  // 512 draws: 4.33 / 22.6 is a standard error
  EXPECT_GE(dt.min().item<double>(), 1e-3 * (1 - 1e-4));
  EXPECT_LE(dt.max().item<double>(), 0.1 * (1 + 1e-4));
  EXPECT_NEAR(dt.log().mean().item<double>(), std::log(1e-2), 0.25);
  EXPECT_LE(largest(w), 0.5);
  EXPECT_GT(largest(w), 0.49);
  EXPECT_TRUE(m->D.equal(torch::ones({512})));
}

TEST(Hybrids, TheChunkDoesNotChangeLossOrGradients) {
  for (const std::string name : {"ngpt_hybrid", "hybrid_prenorm"}) {
    const auto a = make(name, kMixed), b = make(name, with(kMixed, {{"chunk", 64}}));
    const auto x = tokens(5), y = tokens(11);
    const auto loss_a = a->loss(x, y), loss_b = b->loss(x, y);
    EXPECT_NEAR(loss_a.item<double>(), loss_b.item<double>(), 1e-13) << name;
    loss_a.backward();
    loss_b.backward();
    const auto groups = a->parameter_groups(), others = b->parameter_groups();
    for (size_t i = 0; i < groups.size(); ++i)
      EXPECT_LT(largest(groups[i].tensor.grad() - others[i].tensor.grad()),
                1e-11 * (largest(groups[i].tensor.grad()) + 1e-3))
          << name << " " << groups[i].name;
  }
}

TEST(Hybrids, LogitsDoNotDependOnLaterTokens) {
  for (const std::string name : {"ngpt_hybrid", "hybrid_prenorm"}) {
    for (const std::string pattern : {"MEM*E-", "M*-", "ME"}) {
      const auto model = make(name, with(kMixed, {{"pattern", pattern}}));
      auto changed = tokens(5).clone();
      changed.slice(1, 7).add_(1).remainder_(kSmall.vocabulary);
      const auto difference =
          (model->logits(tokens(5)) - model->logits(changed)).abs().amax({0, 2});
      // Without experts equal bits; with them a product may have other rows, and round differently.
      const double rounding = pattern.find('E') == std::string::npos ? 0 : 1e-14;
      EXPECT_LE(largest(difference.slice(0, 0, 7)), rounding) << name << " " << pattern;
      EXPECT_GT(difference.slice(0, 7).min().item<double>(), 1e-6) << name << " " << pattern;
    }
  }
}

// Exactly one residual update a layer: nothing in a stack of experts looks at another position.
TEST(Hybrids, AStackOfExpertsIsPositionWise) {
  for (const std::string name : {"ngpt_hybrid", "hybrid_prenorm"}) {
    const auto difference = [&](const std::string& pattern) {
      const auto model = make(name, with(kMixed, {{"pattern", pattern}}));
      auto changed = tokens(5).clone();
      changed.select(1, 0).add_(1).remainder_(kSmall.vocabulary);
      return (model->logits(tokens(5)) - model->logits(changed)).abs().amax({0, 2});  // [T]
    };
    const auto experts = difference("E"), others = difference("-"), mamba = difference("EM");
    EXPECT_GT(experts[0].item<double>(), 1e-3) << name;
    // Not 0: a product over other rows of an expert may round differently.
    EXPECT_LT(largest(experts.slice(0, 1)), 1e-14) << name;
    EXPECT_LT(largest(others.slice(0, 1)), 1e-14) << name;
    EXPECT_GT(largest(mamba.slice(0, 1)), 1e-6) << name;
  }
}

// Optimisers of matrices (Muon) go by this flag, and by nothing else.
TEST(Hybrids, HiddenMatricesAreTheProjectionsOfTheMixers) {
  for (const std::string name : {"ngpt_hybrid", "hybrid_prenorm"})
    for (const auto& group : make(name, kMixed)->parameter_groups()) {
      bool projection = false;
      for (const std::string leaf : {"q", "k", "v", "o", "up", "down", "in_proj", "out_proj"})
        projection = projection || is_named(group.name, leaf + ".weight");
      EXPECT_EQ(group.hidden_matrix, projection) << name << " " << group.name;
    }
  for (const auto& group : make("nanogpt", Json::object())->parameter_groups())
    EXPECT_EQ(group.hidden_matrix,
              group.tensor.dim() == 2 && group.name.find("blocks.") != std::string::npos)
        << group.name;
}

TEST(Hybrids, DiagnosticsAreThereBeforeTheFirstStep) {
  for (const std::string name : {"mamba2", "hybrid_prenorm"}) {
    Json options = {{"ssm_head_width", 4}};  // nine heads
    if (name == "hybrid_prenorm") options["pattern"] = "M*";
    const auto seen = make(name, options)->diagnostics();
    ASSERT_FALSE(seen.empty()) << name;
    const auto& [key, dt] = seen.front();
    EXPECT_EQ(key, "blocks.0.mamba.dt") << name;
    // Log-uniform in [1e-3, 0.1], through fp32.
    EXPECT_GE(dt[1].item<double>(), 1e-3 * (1 - 1e-4)) << name;
    EXPECT_LE(dt[2].item<double>(), 0.1 * (1 + 1e-4)) << name;
    EXPECT_LT(dt[1].item<double>(), dt[0].item<double>()) << name;
    EXPECT_LT(dt[0].item<double>(), dt[2].item<double>()) << name;
  }
}

// Truth: Nemotron-3 Nano, arXiv 2512.20848: 31.6B parameters, 3.2B active (with the output head),
// 3.6B with both embeddings; and the closed form of its layers.
TEST(HybridPrenorm, HasTheParameterCountsOfNemotron3Nano) {
  const std::string pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  const ModelSize size = {.num_layers = static_cast<int64_t>(pattern.size()),
                          .width = 2688,
                          .num_heads = 32,
                          .head_width = 128,
                          .mlp_width = 1856,
                          .vocabulary = 131072,
                          .context = 8192};
  const Json options = {{"pattern", pattern},  {"num_kv_heads", 2}, {"ssm_heads", 64},
                        {"d_state", 128},      {"num_groups", 8},   {"ssm_head_width", 64},
                        {"num_experts", 128},  {"top_k", 6},        {"expert_width", 1856},
                        {"shared_width", 3712}};
  int64_t total = 0, experts = 0;
  {
    ShapesOnly no_memory;
    const auto model = find_model("hybrid_prenorm").make(size, JsonObject(options, "test"));
    for (const auto& group : model->parameter_groups()) {
      total += group.tensor.numel();
      if (group.name.find(".experts.") != std::string::npos) experts += group.tensor.numel();
    }
  }
  const int64_t d = 2688, inner = 64 * 64, gn = 8 * 128, f = 1856;
  const int64_t mamba =
      d * (2 * inner + 2 * gn + 64) + 5 * (inner + 2 * gn) + 3 * 64 + inner + inner * d;
  const int64_t attention = 2 * d * 32 * 128 + 2 * d * 2 * 128;
  const int64_t moe = d * 128 + 2 * d * f * 128 + 2 * d * 3712;
  const int64_t gains = 53 * d;
  EXPECT_EQ(total, 23 * mamba + 6 * attention + 23 * moe + 2 * 131072 * d + gains);
  EXPECT_NEAR(static_cast<double>(total), 31.58e9, 0.005e9);
  const int64_t active = total - experts + experts * 6 / 128;
  EXPECT_NEAR(static_cast<double>(active - 131072 * d), 3.23e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(active), 3.58e9, 0.005e9);
}

TEST(Hybrids, CountWhatTheyHold) {
  // The closed form of the case above, at a size that can be held.
  const int64_t d = 24, inner = 4 * 8, gn = 2 * 6, f = 16;
  const int64_t mamba =
      d * (2 * inner + 2 * gn + 4) + 5 * (inner + 2 * gn) + 3 * 4 + inner + inner * d;
  const int64_t attention = 2 * d * d + 2 * d * 12, mlp = 2 * d * 34;
  const int64_t moe = d * 5 + 2 * d * f * 5 + 2 * d * 2 * f;
  int64_t prenorm = 0, normalised = 0;
  const auto options = with(kMixed, {{"ssm_heads", 4}});
  for (const auto& g : make("hybrid_prenorm", options)->parameter_groups())
    prenorm += g.tensor.numel();
  for (const auto& g : make("ngpt_hybrid", options)->parameter_groups())
    normalised += g.tensor.numel();
  const int64_t matrices = 2 * mamba + 2 * moe + attention + mlp + 2 * 29 * d;
  EXPECT_EQ(prenorm, matrices + 7 * d);
  // No gated norm; an alpha a layer, s_qk, s_z, and a scalar for each Mamba-2 and MoE layer.
  EXPECT_EQ(normalised, matrices - 2 * inner + 6 * d + d + 29 + 4);
}

TEST(Hybrids, WrongOptionsAreErrorsThatSayWhatToDo) {
  const auto message = [](const std::string& name, const Json& options) -> std::string {
    try {
      find_model(name).make(kSmall, JsonObject(options, "test"));
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::tuple<const char*, Json, const char*> cases[] = {
      {"ngpt_hybrid", {{"pattern", "MXE"}}, "letters M"},
      {"ngpt_hybrid", {{"pattern", ""}}, "letters M"},
      {"ngpt_hybrid", {{"num_kv_heads", 3}}, "num_kv_heads"},
      {"hybrid_prenorm", {{"top_k", 20}}, "top_k"},
      {"hybrid_prenorm", {{"num_experts", 0}}, "num_experts"},
      {"hybrid_prenorm", {{"ssm_heads", 3}, {"num_groups", 2}}, "ssm_heads"},
      {"hybrid_prenorm", {{"norm_groups", 7}}, "norm_groups"},
      {"mamba2", {{"chunk", 0}}, "chunk"},
      {"mamba2", {{"top_k", 2}}, "top_k"},
      {"ngpt_hybrid", {{"activation", "gelu"}}, "activation"},
      // An infinite factor, 0 / 0, or experts that push the wrong way.
      {"ngpt_hybrid", {{"s_mamba_scale", 0.0}}, "s_mamba_scale"},
      {"ngpt_hybrid", {{"s_moe_scale", 0.0}}, "s_moe_scale"},
      {"ngpt_hybrid", {{"s_uv", true}, {"s_uv_scale", 0.0}}, "s_uv_scale"},
      {"ngpt_hybrid", {{"s_uv", true}, {"s_uv_init", 0.0}}, "s_uv_init"},
      {"ngpt_hybrid", {{"alpha_scale", -0.1}}, "alpha_scale"},
      {"ngpt_hybrid", {{"fngpt", true}, {"norm_eps", 0.0}}, "norm_eps"},
      {"hybrid_prenorm", {{"bias_rate", -1e-3}}, "bias_rate"},
      {"hybrid_prenorm", {{"balance_coefficient", -1.0}}, "balance_coefficient"},
      {"hybrid_prenorm", {{"routed_scaling_factor", -2.5}}, "routed_scaling_factor"},
      {"ngpt", {{"suv_scale", 0.0}}, "suv_scale"},
      {"ngpt", {{"s_scale", -1.0}}, "s_scale"},
      {"angpt", {{"s_scale", 0.0}}, "s_scale"},
      // Without effect.
      {"ngpt_hybrid", {{"s_uv_init", 2.0}}, "without effect"},
      {"ngpt_hybrid", {{"s_uv_scale", 2.0}}, "without effect"},
      {"ngpt_hybrid", {{"norm_eps", 1e-6}}, "without effect"},
      {"ngpt_hybrid", {{"lgp_q", 0.5}}, "without effect"},
      {"ngpt", {{"lgp_q", 0.5}}, "without effect"},
      {"ngpt_hybrid", {{"pattern", "M*"}, {"top_k", 3}}, "the pattern has E"},
      {"ngpt_hybrid", {{"pattern", "M*"}, {"s_moe_scale", 0.5}}, "the pattern has E"},
      {"ngpt_hybrid", {{"pattern", "E*"}, {"d_state", 32}}, "the pattern has M"},
      {"ngpt_hybrid", {{"pattern", "*"}, {"s_uv", true}}, "the pattern has E or -"},
      {"hybrid_prenorm", {{"pattern", "ME"}, {"num_kv_heads", 1}}, "the pattern has *"},
      {"hybrid_prenorm", {{"gate_norm", "none"}, {"norm_groups", 2}}, "gate_norm"}};
  for (const auto& [name, options, expected] : cases)
    EXPECT_NE(message(name, options).find(expected), std::string::npos) << message(name, options);
}

}  // namespace
}  // namespace normbench
