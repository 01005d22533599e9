// Parameter counts, causality, gauge freedom and initialisation. Values and gradients:
// baselines/golden, by parity.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

#include "models/decoder.h"
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

// Truth: the released configurations of arXiv 2602.01212 (github.com/Ocram7/SimpleGPT at 3ebabaf).
TEST(Models, HaveTheParameterCountsOfTheSimpleGptConfigurations) {
  struct Configuration {
    int64_t num_layers, width, num_heads, num_kv_heads, mlp_width, vocabulary;
    int64_t prenorm, qk_norm, simplegpt;
  };
  const Configuration configurations[] = {
      {18, 2048, 16, 16, 5632, 32000, 1055991808, 1056065536, 1056305152},
      {32, 4096, 32, 32, 11008, 32000, 6738415616, 6738677760, 6739513344},
      {32, 4096, 32, 8, 14336, 128256, 8030261248, 8030425088, 8031375360}};
  for (const auto& c : configurations) {
    const ModelSize size = {.num_layers = c.num_layers,
                            .width = c.width,
                            .num_heads = c.num_heads,
                            .mlp_width = c.mlp_width,
                            .vocabulary = c.vocabulary,
                            .context = 2048};
    const Json heads = {{"num_kv_heads", c.num_kv_heads}};
    EXPECT_EQ(count("llama_prenorm", size, heads), c.prenorm);
    EXPECT_EQ(count("llama_prenorm", size, {{"num_kv_heads", c.num_kv_heads}, {"qk_norm", "full"}}),
              c.qk_norm);
    EXPECT_EQ(count("simplegpt", size, heads), c.simplegpt);
    // One gain of the width for each norm that others have before the sublayer.
    EXPECT_EQ(count("postnorm", size, heads), c.prenorm);
    EXPECT_EQ(count("lnscaling", size, heads), c.prenorm);
    EXPECT_EQ(count("olmo2", size, heads), c.qk_norm);
    EXPECT_EQ(count("deepnorm", size, heads), c.prenorm - c.width);          // no final norm
    EXPECT_EQ(count("dyt", size, heads), c.prenorm + 2 * c.num_layers + 2);  // alphas, embed.scale
  }
  // Truth: the 124 M model of GPT-2, whose matrices and norms have biases.
  const ModelSize gpt2 = {.num_layers = 12,
                          .width = 768,
                          .num_heads = 12,
                          .mlp_width = 3072,
                          .vocabulary = 50257,
                          .context = 1024};
  EXPECT_EQ(count("nanogpt", gpt2, {{"bias", true}}), 124439808);
  EXPECT_EQ(count("nanogpt", gpt2), 124439808 - 12 * (9 + 2) * 768 - 768);
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
    // Every sum over earlier tokens has the same terms in the same order: equal bits. A product of
    // an expert has other rows when a later token chooses another one, and may round differently.
    const double rounding = entry.default_options.contains("num_experts") ? 1e-14 : 0;
    EXPECT_LE(difference.narrow(0, 0, changed).max().item<double>(), rounding) << entry.name;
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

TEST(Decoders, LossContinuesFromTheStreamThatEntersABlock) {
  const auto tokens = small_tokens(5), targets = small_tokens(11);
  int num_decoders = 0;
  for (const auto& entry : model_registry()) {
    const auto model = std::dynamic_pointer_cast<Decoder>(small_in_double(entry.name));
    if (!model) continue;
    ++num_decoders;
    std::vector<torch::Tensor> hidden;
    model->logits(tokens, &hidden);
    const double whole = model->loss(tokens, targets).item<double>();
    const auto h = model->stream_into(1, tokens);
    EXPECT_TRUE(h.equal(hidden[0])) << entry.name;
    EXPECT_EQ(model->loss_from(1, h, targets).item<double>(), whole) << entry.name;
    EXPECT_EQ(model->loss_from(0, model->stream_into(0, tokens), targets).item<double>(), whole);
    EXPECT_NE(model->loss_from(0, h, targets).item<double>(), whole) << entry.name;
    EXPECT_THROW(model->loss_from(kSmall.num_layers, h, targets), c10::Error);
    EXPECT_THROW(model->stream_into(-1, tokens), c10::Error);
  }
  EXPECT_GE(num_decoders, 8);
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

/// Every vector and scalar moved off its first value, so that none can be missing unseen.
void move_vectors(Model& model) {
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : parameters_of(model))
    if (tensor.dim() < 2)
      tensor.mul_(1 + 0.3 * torch::linspace(-1, 1, tensor.numel(), torch::kDouble).sin() + 0.1);
}

// Truth: arXiv 2602.01212, psi does not depend on the scale of its matrix; so <W, dloss/dW> = 0 for
// each. The eps under the root breaks both.
TEST(Simplegpt, DoesNotSeeTheScaleOfAMatrix) {
  const auto tokens = small_tokens(5), targets = small_tokens(11);
  for (const std::string norm : {"rmsnorm", "layernorm"}) {
    const auto model = small_in_double("simplegpt", {{"norm_eps", 0.0}, {"norm", norm}});
    move_vectors(*model);
    const auto loss = model->loss(tokens, targets);
    loss.backward();
    for (auto& [name, w] : parameters_of(*model)) {
      if (w.dim() != 2 || !name.starts_with("blocks.")) continue;
      const double inner = (w * w.grad()).sum().item<double>(),
                   size = w.norm().item<double>() * w.grad().norm().item<double>();
      EXPECT_LT(std::abs(inner), 1e-12 * size) << norm << " " << name;
      torch::NoGradGuard no_grad;
      w.mul_(3.7);
    }
    // double: each of 14 norms rounds once more
    EXPECT_NEAR(model->loss(tokens, targets).item<double>(), loss.item<double>(), 1e-12) << norm;
  }
  const auto with_eps = small_in_double("simplegpt", {{"norm_eps", 1e-3}});
  const double before = with_eps->loss(tokens, targets).item<double>();
  for (auto& [name, w] : parameters_of(*with_eps)) {
    torch::NoGradGuard no_grad;
    if (w.dim() == 2 && name.starts_with("blocks.")) w.mul_(3.7);
  }
  EXPECT_GT(std::abs(with_eps->loss(tokens, targets).item<double>() - before), 1e-3);
}

// norm(W norm(h)) = norm(W h) at eps 0: the norms that the paper removes did nothing but rescale W.
TEST(Simplegpt, PreNormsWithoutGainChangeNothing) {
  const auto with = small_in_double("simplegpt", {{"norm_eps", 0.0}, {"pre_norm", true}}),
             without = small_in_double("simplegpt", {{"norm_eps", 0.0}});
  const auto tokens = small_tokens(5), targets = small_tokens(11);
  EXPECT_NEAR(with->loss(tokens, targets).item<double>(),
              without->loss(tokens, targets).item<double>(), 1e-12);
}

TEST(Models, OptionsOfTwoModelsMeetInTheSameFunction) {
  const auto same = [](const std::string& a, const Json& a_options, const std::string& b,
                       const Json& b_options) {
    const auto x = small_in_double(a, a_options), y = small_in_double(b, b_options);
    move_vectors(*x);
    return change(*x, *y);
  };
  // double; a gradient sums some hundred terms of 2.2e-16 over two layers
  constexpr double kEqual = 1e-10;
  const Json none = Json::array();
  const Json llama_1e5 = {{"rms_eps", 1e-5}};
  EXPECT_LT(
      same("simplegpt", {{"pre_norm", true}, {"norm_after", none}}, "llama_prenorm", llama_1e5),
      kEqual);
  EXPECT_LT(
      same("llama_prenorm", {{"qk_norm", "l2"}, {"rope_pairs", "half"}, {"rope_fraction", 0.5}},
           "gpt_plus", Json::object()),
      kEqual);
  EXPECT_LT(same("postnorm", {{"placement", "post_sublayer"}, {"qk_norm", "full"}}, "olmo2",
                 {{"rope_base", 1e4}}),
            kEqual);
  EXPECT_LT(same("deepnorm", {{"alpha", 1.0}, {"rope_pairs", "half"}, {"norm_eps", 1e-6}},
                 "postnorm", {{"placement", "post"}}),
            kEqual);
  EXPECT_LT(same("llama_prenorm", {{"attention_scale", 1 / std::sqrt(8.0)}, {"num_kv_heads", 3}},
                 "llama_prenorm", Json::object()),
            kEqual);
  // And each option does something.
  EXPECT_GT(same("llama_prenorm", {{"attention_scale", 1.0}}, "llama_prenorm", Json::object()),
            1e-6);
  EXPECT_GT(same("deepnorm", {{"alpha", 1.0}}, "deepnorm", Json::object()), 1e-3);
  EXPECT_GT(same("postnorm", {{"placement", "post_sublayer"}}, "postnorm", Json::object()), 1e-3);
}

TEST(Simplegpt, NormsAfterQueriesAndKeysAreFullWidthQkNorm) {
  const auto ours = small_in_double("simplegpt", {{"pre_norm", true}, {"norm_after", {"q", "k"}}}),
             qk_norm = small_in_double("llama_prenorm", {{"qk_norm", "full"}, {"rms_eps", 1e-5}});
  move_vectors(*qk_norm);
  const auto from = parameters_of(*qk_norm);
  for (auto& [name, tensor] : parameters_of(*ours)) {
    torch::NoGradGuard no_grad;
    auto theirs = name;
    for (const std::string side : {"q", "k"})
      if (const auto at = theirs.find("." + side + ".norm"); at != theirs.npos)
        theirs.replace(at, 7, "." + side + "_norm");
    tensor.copy_(from.at(theirs));
  }
  const auto difference = ours->logits(small_tokens(5)) - qk_norm->logits(small_tokens(5));
  EXPECT_LT(difference.abs().max().item<double>(), 1e-12);
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
  for (const auto& entry : model_registry()) {
    // Two papers let it act on everything.
    const Json options =
        entry.default_options.contains("decay") ? Json{{"decay", "matrices"}} : Json::object();
    for (const auto& group : make(entry.name, kSmall, options)->parameter_groups()) {
      // A convolution is a matrix to Megatron-LM; s_qk is a vector for each head.
      const bool convolution = is_named(group.name, "conv.weight") && entry.name != "ngpt_hybrid";
      const bool matrix = group.tensor.dim() == 2 && !is_named(group.name, "qk_scale");
      EXPECT_EQ(group.decay, matrix || convolution) << entry.name << " " << group.name;
    }
  }
  for (const std::string name : {"simplegpt", "dyt"})
    for (const auto& group : make(name, kSmall)->parameter_groups())
      EXPECT_TRUE(group.decay) << name << " " << group.name;
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
  // Truth: arXiv 2503.10622, Table 11.
  EXPECT_EQ(alphas(64), std::pair(1.0f, 1.0f));
  EXPECT_EQ(alphas(1024), std::pair(1.0f, 1.0f));
  EXPECT_EQ(alphas(2048), std::pair(1.0f, 0.5f));
  EXPECT_EQ(alphas(4096), std::pair(0.8f, 0.2f));
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

std::string message(const std::string& name, const ModelSize& size, const Json& options) {
  try {
    make(name, size, options);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Models, WrongSizesAndOptionsAreErrorsThatSayWhatToDo) {
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
  EXPECT_NE(message("llama_prenorm", kSmall, {{"num_kv_heads", 2}}).find("num_kv_heads"),
            std::string::npos);
  const Json misnamed = {{"norm_after", {"q", "w1"}}}, gateless = {{"norm_after", {"gate", "q"}}};
  EXPECT_NE(message("simplegpt", kSmall, misnamed).find("w1"), std::string::npos);
  EXPECT_NE(message("nanogpt", kSmall, gateless).find("gate"), std::string::npos);
  EXPECT_NE(message("postnorm", kSmall, {{"placement", "post_fina"}}).find("post_final"),
            std::string::npos);
}

TEST(Models, OptionsWithoutEffectAreErrors) {
  const std::tuple<const char*, Json, const char*> cases[] = {
      {"gpt_plus", {{"qk_norm", false}, {"g_init", 4.0}}, "g_init"},
      {"gpt_plus", {{"qk_norm", false}, {"g", "per_head"}}, "model_options/g"},
      {"ngpt", {{"lerp", "corrected"}}, "residual_norm"},
      {"ngpt",
       {{"s_scale", 0.01}, {"alpha_scale", 0.1}, {"sqk_scale", 0.1}, {"sz_scale", 0.1}},
       "model_options/s_scale"},
      {"angpt", {{"s_scale", 0.1}, {"alpha_scale", 0.2}, {"sz_scale", 0.2}}, "s_scale"},
      {"llama_prenorm", {{"qk_norm", "l2"}, {"attention_scale", 0.5}}, "attention_scale"},
      {"deepnorm", {{"rope", false}, {"rope_base", 500.0}}, "rope_base"},
      {"simplegpt", {{"alpha_init", 0.8}}, "alpha_init"},
      {"simplegpt", {{"norm", "derf"}, {"norm_eps", 1e-6}}, "norm_eps"},
      {"nanogpt", {{"alpha_init", 0.8}}, "alpha_init"}};
  for (const auto& [name, options, option] : cases) {
    const std::string said = message(name, kSmall, options);
    EXPECT_NE(said.find("without effect"), std::string::npos) << name << ": " << said;
    EXPECT_NE(said.find(option), std::string::npos) << name << ": " << said;
  }
}

TEST(Models, AScaleForTheRestActsWhereARestIs) {
  EXPECT_EQ(message("ngpt", kSmall, {{"s_scale", 0.01}, {"alpha_scale", 0.1}, {"sz_scale", 0.1}}),
            "no error");
  EXPECT_EQ(message("angpt", kSmall, {{"s_scale", 0.1}, {"alpha_scale", 0.2}}), "no error");
  EXPECT_EQ(message("angpt", kSmall, {{"alpha_scale", 0.2}, {"sz_scale", 0.2}}), "no error");
}

TEST(Models, NumbersOutOfRangeAreErrors) {
  const std::tuple<const char*, Json, const char*> cases[] = {
      {"llama_prenorm", {{"rms_eps", -1.0}}, "0 or more"},
      {"deepnorm", {{"alpha", -1.0}}, "0 or more"},
      {"dyt", {{"rope_fraction", 1.5}}, "at most 1"},
      {"nanogpt", {{"norm_after", {"q", "q"}}}, "twice"},
      {"ngpt", {{"sz_init", 0.0}}, "above 0"},
      {"ngpt", {{"lgp", true}, {"lgp_q", -3.0}}, "0 or more"}};
  for (const auto& [name, options, expected] : cases)
    EXPECT_NE(message(name, kSmall, options).find(expected), std::string::npos)
        << name << ": " << message(name, kSmall, options);
}

// What an angular cap leaves alone and Muon leaves to AdamW.
TEST(Models, EmbeddingAndHeadAreMarkedAndNothingElseIs) {
  for (const auto& entry : model_registry())
    for (const auto& group : make(entry.name, kSmall)->parameter_groups())
      EXPECT_EQ(group.embedding, group.name == "embed.weight" || group.name == "head.weight")
          << entry.name << " " << group.name;
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
