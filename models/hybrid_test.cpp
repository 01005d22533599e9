// Mamba-2, experts and the two hybrids: what the golden files do not pin. Truth of each case: the
// recurrence, the sum over all experts, the papers' counts. Values and gradients: parity.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

#include "models/hybrid_prenorm.h"
#include "models/ngpt.h"
#include "models/ngpt_hybrid.h"

namespace normbench {
namespace {

constexpr auto kDouble = torch::kDouble;

const ModelSize kSmall = {
    .num_layers = 6, .width = 24, .num_heads = 4, .mlp_width = 34, .vocabulary = 29, .context = 12};
const Json kMixed = {{"pattern", "MEM*E-"}, {"num_experts", 5}, {"expert_width", 16},
                     {"num_groups", 2},     {"d_state", 6},     {"ssm_head_width", 8},
                     {"num_kv_heads", 2},   {"chunk", 5}};

/// `options` with `more` laid over them. What they say of layers that the pattern does not have is
/// left out, since a model refuses it.
Json with(Json options, const Json& more) {
  options.update(more);
  const std::pair<char, std::vector<std::string>> parts[] = {
      {'M', {"num_groups", "d_state", "ssm_head_width", "chunk"}},
      {'E', {"num_experts", "expert_width"}},
      {'*', {"num_kv_heads"}}};
  for (const auto& [letter, names] : parts)
    if (options.value("pattern", "ME*").find(letter) == std::string::npos)
      for (const auto& name : names) options.erase(name);
  return options;
}

std::shared_ptr<Model> make(const std::string& name, const Json& options,
                            const ModelSize& size = kSmall) {
  auto model = find_model(name).make(size, JsonObject(options, "test"));
  model->reset_parameters(/*seed=*/7);
  model->to(kDouble);
  model->set_compute_type(kDouble);
  return model;
}

torch::Tensor tokens(int64_t stride) {
  return (torch::arange(2 * kSmall.context, torch::kLong) * stride % kSmall.vocabulary)
      .view({2, kSmall.context});
}

double largest(const torch::Tensor& x) { return x.abs().max().item<double>(); }

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
