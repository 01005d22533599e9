// Parameter counts, causality, gauge freedom and initialisation. Values and gradients:
// baselines/golden, by parity.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

#include "models/layers.h"
#include "models/model.h"

namespace normbench {
namespace {

std::shared_ptr<Model> make(const std::string& name, const ModelSize& size,
                            const Json& options = Json::object()) {
  return find_model(name).make(size, JsonObject(options, "test"));
}

// mlp_width is no multiple of the width and the head count is odd, so that a wrong axis or view
// cannot hide.
const ModelSize kSmall = {
    .num_layers = 2, .width = 24, .num_heads = 3, .mlp_width = 34, .vocabulary = 29, .context = 12};

std::shared_ptr<Model> small_in_double(const std::string& name,
                                       const Json& options = Json::object()) {
  auto model = make(name, kSmall, options);
  model->reset_parameters(/*seed=*/7);
  model->to(torch::kDouble);
  model->set_compute_type(torch::kDouble);
  return model;
}

torch::Tensor small_tokens(int64_t stride) {
  return (torch::arange(2 * kSmall.context, torch::kLong) * stride % kSmall.vocabulary)
      .view({2, kSmall.context});
}

std::map<std::string, torch::Tensor> parameters_of(Model& model) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& group : model.parameter_groups()) all[group.name] = group.tensor;
  return all;
}

int64_t count(const std::string& name, const ModelSize& size,
              const Json& options = Json::object()) {
  ShapesOnly no_memory;
  int64_t total = 0;
  for (const auto& group : make(name, size, options)->parameter_groups())
    total += group.tensor.numel();
  return total;
}

struct PaperSize {
  int64_t width, num_layers, num_heads, gpt_plus, ngpt, angpt;
};

// Truth: 16 d^2 L + 2 V d and the vectors of each model, which rounds to every size printed in
// arXiv 2505.22014 v2, Table F.1. The gain g of QK-norm (one a layer) is not in those counts and is
// added here.
TEST(Models, HaveThePapersExactParameterCounts) {
  const PaperSize sizes[] = {{256, 6, 4, 32050432, 32114304, 32100480},
                             {384, 10, 6, 62234496, 62318976, 62284416},
                             {512, 18, 8, 127027712, 127160448, 127077504},
                             {768, 18, 12, 247164672, 247338624, 247214208},
                             {1024, 24, 16, 505725952, 505996416, 505775232},
                             {1280, 36, 20, 1072590080, 1073053824, 1072639104}};
  for (const auto& s : sizes) {
    const ModelSize size = {.num_layers = s.num_layers,
                            .width = s.width,
                            .num_heads = s.num_heads,
                            .mlp_width = 4 * s.width,
                            .vocabulary = 50304,
                            .context = 2048};
    EXPECT_EQ(count("gpt_plus", size), s.gpt_plus + s.num_layers);
    EXPECT_EQ(count("gpt_plus", size, {{"qk_norm", false}}), s.gpt_plus);
    EXPECT_EQ(count("gpt_plus", size, {{"g", "per_head"}}),
              s.gpt_plus + s.num_layers * s.num_heads);
    EXPECT_EQ(count("ngpt", size), s.ngpt);
    EXPECT_EQ(count("ngpt", size, {{"qk_scale", "separate"}}), s.ngpt + s.num_layers * s.width);
    EXPECT_EQ(count("angpt", size), s.angpt + s.num_layers);
    EXPECT_EQ(count("llama_prenorm", size), s.gpt_plus);
  }
}

TEST(Models, LogitsDoNotDependOnLaterTokens) {
  for (const auto& entry : model_registry()) {
    const auto model = small_in_double(entry.name);
    const auto before = small_tokens(5);
    auto after = before.clone();
    const int64_t changed = 6;
    after.index_put_({torch::indexing::Slice(), changed},
                     (after.select(1, changed) + 1) % kSmall.vocabulary);
    const auto difference =
        (model->logits(before) - model->logits(after)).abs().amax({0, 2});  // [T]
    // Every sum over earlier tokens has the same terms in the same order: equal bits.
    EXPECT_EQ(difference.narrow(0, 0, changed).max().item<double>(), 0) << entry.name;
    EXPECT_GT(difference.narrow(0, changed, kSmall.context - changed).min().item<double>(), 1e-9)
        << entry.name;
  }
}

TEST(Models, ShorterSequencesAreAPrefix) {
  for (const auto& entry : model_registry()) {
    const auto model = small_in_double(entry.name);
    const auto tokens = small_tokens(5);
    const auto whole = model->logits(tokens), part = model->logits(tokens.narrow(1, 0, 5));
    // Products over other row counts may round differently: 1e-12 is 5e3 units of 2.2e-16, for 2
    // layers of sums of 34.
    EXPECT_LT((whole.narrow(1, 0, 5) - part).abs().max().item<double>(), 1e-12) << entry.name;
  }
}

TEST(Models, LossIsTheCrossEntropyOfTheLogits) {
  for (const auto& entry : model_registry()) {
    const auto model = small_in_double(entry.name);
    const auto tokens = small_tokens(5), targets = small_tokens(11);
    const auto expected = torch::nn::functional::cross_entropy(model->logits(tokens).flatten(0, 1),
                                                               targets.flatten());
    const double loss = model->loss(tokens, targets).item<double>();
    EXPECT_NEAR(loss, expected.item<double>(), 1e-13)
        << entry.name;                                   // double, a mean of 24 terms near 3.4
    EXPECT_NEAR(loss, std::log(29), 0.7) << entry.name;  // a new model knows nothing: about ln V
  }
}

/// Largest relative change of the loss and of every gradient between two models with equal weights.
double change(Model& a, Model& b) {
  const auto from = parameters_of(a);
  auto to = parameters_of(b);
  {
    torch::NoGradGuard no_grad;
    for (auto& [name, tensor] : to) tensor.copy_(from.at(name));
  }
  double worst = 0;
  const auto tokens = small_tokens(5), targets = small_tokens(11);
  const auto loss_a = a.loss(tokens, targets), loss_b = b.loss(tokens, targets);
  worst = std::abs(loss_a.item<double>() - loss_b.item<double>());
  loss_a.backward();
  loss_b.backward();
  for (const auto& [name, tensor] : from) {
    const auto difference =
        (tensor.grad() - to.at(name).grad()).abs().max() / tensor.grad().abs().max();
    worst = std::max(worst, difference.item<double>());
  }
  return worst;
}

// arXiv 2505.22014 v2: the exact norms of q, k and of both branches cancel these factors, forward
// and backward.
TEST(Angpt, FactorsThatTheNormsCancelChangeNothing) {
  const double d = 24, h = 8, f = 34;
  const std::map<std::string, double> paper = {{"nu_qkv", std::sqrt(d / h)},
                                               {"nu_p", std::sqrt(h / d)},
                                               {"nu_u", std::sqrt(d / f)},
                                               {"nu_acf", 3.74},
                                               {"nu_d", std::sqrt(f / d)}};
  for (const auto& [name, value] : paper) {
    const auto as_printed = small_in_double("angpt"),
               tripled = small_in_double("angpt", {{name, 3 * value}});
    // double; a gradient sums some hundred terms of 2.2e-16 over two layers
    EXPECT_LT(change(*as_printed, *tripled), 1e-10) << name;
  }
}

TEST(Angpt, TheFactorInsideSiluDoesChangeTheLoss) {
  const auto as_printed = small_in_double("angpt");
  const auto tripled = small_in_double("angpt", {{"nu_z", 3 * std::sqrt(24.0 / 34.0)}});
  EXPECT_GT(change(*as_printed, *tripled), 1e-3);
  const auto as_printed_again = small_in_double("angpt"),
             without = small_in_double("angpt", {{"silu_sqrt_d", false}});
  EXPECT_GT(change(*as_printed_again, *without), 1e-3);
}

// The public code has it, the paper does not: the factor sqrt(D) on the up half is cancelled by the
// norm of the branch.
TEST(Ngpt, TheFactorOnTheUpHalfCancels) {
  const auto both = small_in_double("ngpt"),
             gate = small_in_double("ngpt", {{"sqrt_d_on", "gate"}});
  EXPECT_LT(change(*both, *gate), 1e-10);
}

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

TEST(Models, OnlyMatricesDecay) {
  for (const auto& entry : model_registry())
    for (const auto& group : make(entry.name, kSmall)->parameter_groups())
      EXPECT_EQ(group.decay, group.tensor.dim() == 2) << entry.name << " " << group.name;
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

TEST(Models, WrongSizesAndOptionsAreErrorsThatSayWhatToDo) {
  const auto message = [](const std::string& name, const ModelSize& size,
                          const Json& options) -> std::string {
    try {
      make(name, size, options);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  ModelSize indivisible = kSmall;
  indivisible.num_heads = 5;
  EXPECT_NE(message("ngpt", indivisible, Json::object()).find("num_heads"), std::string::npos);
  ModelSize empty = kSmall;
  empty.mlp_width = 0;
  EXPECT_NE(message("ngpt", empty, Json::object()).find("mlp_width"), std::string::npos);
  EXPECT_NE(message("ngptt", kSmall, Json::object()).find("did you mean \"ngpt\""),
            std::string::npos);
  EXPECT_NE(message("ngpt", kSmall, {{"alpha_int", 1.0}}).find("alpha_init"), std::string::npos);
  EXPECT_NE(message("ngpt", kSmall, {{"rope_pairs", "published"}, {"rope_fraction", 0.5}})
                .find("published"),
            std::string::npos);
  EXPECT_NE(message("angpt", kSmall, {{"rope_fraction", 0.1}}).find("even"), std::string::npos);
}

TEST(Models, ComputeInBf16WithFp32LossAndGradients) {
  for (const auto& entry : model_registry()) {
    const auto model = make(entry.name, kSmall);
    model->reset_parameters(7);
    const auto tokens = small_tokens(5), targets = small_tokens(11);
    const double exact = model->loss(tokens, targets).item<double>();
    model->set_compute_type(torch::kBFloat16);
    const auto loss = model->loss(tokens, targets);
    loss.backward();
    EXPECT_EQ(loss.scalar_type(), torch::kFloat) << entry.name;
    EXPECT_NEAR(loss.item<double>(), exact, 0.05)
        << entry.name;  // bf16 rounds by 2^-9, about 20 times in sequence
    for (const auto& group : model->parameter_groups())
      EXPECT_EQ(group.tensor.grad().scalar_type(), torch::kFloat) << group.name;
  }
}

}  // namespace
}  // namespace normbench
