// What every model keeps to: the papers' parameter counts, causality, which parameters decay, and
// an error for wrong options. Values and gradients: baselines/golden, by parity.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "models/decoder.h"
#include "models/layers.h"
#include "models/testing/small_model.h"

namespace normbench {
namespace {

using namespace testing::small_model;

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
  // Heads are 8 wide: 2.4 entries would round to an even number, and the option would not mean what
  // it says.
  EXPECT_NE(message("angpt", kSmall, {{"rope_fraction", 0.3}}).find("2.4 of 8 entries"),
            std::string::npos);
  EXPECT_EQ(message("angpt", kSmall, {{"rope_fraction", 0.25}}), "no error");
  EXPECT_NE(message("llama_prenorm", kSmall, {{"num_kv_heads", 2}}).find("num_kv_heads"),
            std::string::npos);
  const Json misnamed = {{"norm_after", {"q", "w1"}}}, gateless = {{"norm_after", {"gate", "q"}}};
  EXPECT_NE(message("simplegpt", kSmall, misnamed).find("w1"), std::string::npos);
  EXPECT_NE(message("nanogpt", kSmall, gateless).find("gate"), std::string::npos);
  for (const std::string model : {"simplegpt", "nanogpt"})
    EXPECT_NE(message(model, kSmall, {{"pre_norm", false}, {"norm_after", Json::array()}})
                  .find("a block would have no norm"),
              std::string::npos)
        << model;
  EXPECT_NE(message("simplegpt", kSmall, {{"norm_after", {"v", "k"}}, {"qk_norm", "full"}})
                .find("no k beside qk_norm full"),
            std::string::npos);
  EXPECT_NE(message("postnorm", kSmall, {{"placement", "post_fina"}}).find("post_final"),
            std::string::npos);
  for (const std::string qk_norm : {"full", "head"})
    EXPECT_NE(message("dyt", kSmall, {{"qk_norm", qk_norm}}).find("none or l2"), std::string::npos)
        << qk_norm;
  EXPECT_EQ(message("dyt", kSmall, {{"qk_norm", "l2"}}), "no error");
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
      {"llama_prenorm", {{"init", "torchtitan"}, {"tied_embeddings", true}}, "tied_embeddings"},
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
