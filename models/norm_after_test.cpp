// SimpleGPT and GPT-2 with norms after their matrices, against the formulas written out in plain
// ATen: combinations for which no golden file exists.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "models/testing/small_model.h"

namespace normbench {
namespace {

using namespace testing::small_model;
using torch::Tensor;

using Parameters = std::map<std::string, Tensor>;
/// What stands at a place ("blocks.0.attn.q.norm", "final_norm", ...); x comes back where nothing
/// does.
using Place = std::function<Tensor(const Tensor& x, const std::string& place)>;

/// A model whose gains, biases, alphas and shifts all differ, so that none can be missing unseen,
/// and whose matrices are large enough for tanh and erf to bend.
std::shared_ptr<Model> moved(const std::string& name, const Json& options) {
  const auto model = small_in_double(name, options);
  torch::manual_seed(5);
  torch::NoGradGuard no_grad;
  for (auto& [key, tensor] : parameters_of(*model)) {
    if (tensor.dim() < 2) tensor.add_(0.2 * torch::randn_like(tensor));
    if (tensor.dim() == 2 && key.starts_with("blocks.")) tensor.mul_(5);
  }
  return model;
}

Tensor heads(const Tensor& x) {  // [B, T, H, Dh]
  return x.view({x.size(0), x.size(1), kSmall.num_heads, -1});
}

/// Entries 2i and 2i + 1 of a head turn by t 10000^(-2i / Dh). x: [B, T, H, Dh].
Tensor turned(const Tensor& x) {
  const auto t = torch::arange(x.size(1), torch::kDouble);
  const auto i = torch::arange(x.size(3) / 2, torch::kDouble);
  const auto angle =
      t.view({-1, 1, 1}) * torch::pow(10000, -2 * i / static_cast<double>(x.size(3)));
  const auto even = x.slice(3, 0, x.size(3), 2), odd = x.slice(3, 1, x.size(3), 2);
  const auto cos = angle.cos(), sin = angle.sin();
  return torch::stack({even * cos - odd * sin, even * sin + odd * cos}, -1).flatten(3);
}

/// softmax_causal(q k^T / sqrt(Dh)) v. q, k, v: [B, T, H, Dh]; returns [B, T, H Dh].
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto scores =
      torch::einsum("bthd,bshd->bhts", {q, k}) / std::sqrt(static_cast<double>(q.size(3)));
  const auto later = torch::ones({q.size(1), q.size(1)}, torch::kBool).triu(1);
  const auto shares = scores.masked_fill(later, -INFINITY).softmax(-1);
  return torch::einsum("bhts,bshd->bthd", {shares, v}).flatten(2);
}

/// psi(x) = f(W x) of block `layer`.
auto psi_of(const Parameters& p, const Place& f, int64_t layer) {
  return [&p, &f, layer](const Tensor& x, const std::string& matrix) {
    const auto name = "blocks." + std::to_string(layer) + "." + matrix;
    return f(x.matmul(p.at(name + ".weight").t()), name + ".norm");
  };
}

/// Logits of (1) to (5) in simplegpt.h, written once more in plain ATen.
Tensor simplegpt(const Parameters& p, const Place& f) {
  auto h = p.at("embed.weight").index({small_tokens(5)});
  for (int64_t layer = 0; layer < kSmall.num_layers; ++layer) {
    const auto psi = psi_of(p, f, layer);
    h = h + psi(attention(turned(heads(psi(h, "attn.q"))), turned(heads(psi(h, "attn.k"))),
                          heads(psi(h, "attn.v"))),
                "attn.o");
    const auto gate = psi(h, "mlp.gate");
    h = h + psi(psi(h, "mlp.up") * gate * gate.sigmoid(), "mlp.down");
  }
  return f(h, "final_norm").matmul(p.at("head.weight").t());
}

/// Logits of (1) to (4) in nanogpt.h (the same, section 2), with f at the places of both papers.
Tensor gpt2(const Parameters& p, const Place& f) {
  auto h = p.at("embed.weight").index({small_tokens(5)}) + p.at("pos.weight");
  for (int64_t layer = 0; layer < kSmall.num_layers; ++layer) {
    const auto psi = psi_of(p, f, layer);
    const auto block = "blocks." + std::to_string(layer);
    const auto x = f(h, block + ".attn.norm");
    h = h +
        psi(attention(heads(psi(x, "attn.q")), heads(psi(x, "attn.k")), heads(psi(x, "attn.v"))),
            "attn.o");
    const auto u = psi(f(h, block + ".mlp.norm"), "mlp.up");
    h = h + psi(0.5 * u * (1 + (u / std::sqrt(2.0)).erf()), "mlp.down");
  }
  return f(h, "final_norm").matmul(p.at("embed.weight").t());
}

/// f where the place ends in one of `ends`, nothing elsewhere.
Place at(const std::set<std::string>& ends, const Place& f) {
  return [=](const Tensor& x, const std::string& place) {
    for (const auto& end : ends)
      if (place.ends_with(end)) return f(x, place);
    return x;
  };
}

/// The formula with f at all `places` is the model; without any one of them, or with `other` in
/// place of f, it is another function.
void expect_the_formula(Model& model, Tensor (*formula)(const Parameters&, const Place&),
                        const std::set<std::string>& places, const Place& f,
                        const std::map<std::string, Place>& others) {
  torch::NoGradGuard no_grad;
  const auto p = parameters_of(model);
  const auto logits = model.logits(small_tokens(5));
  const auto apart = [&](const Place& place) {
    return (formula(p, place) - logits).abs().max().item<double>();
  };
  // double; logits near 1, sums of 34 terms over two layers
  EXPECT_LT(apart(at(places, f)), 1e-12);
  for (const auto& place : places) {
    auto rest = places;
    rest.erase(place);
    EXPECT_GT(apart(at(rest, f)), 1e-6) << "without " << place;
  }
  for (const auto& [what, other] : others) EXPECT_GT(apart(at(places, other)), 1e-6) << what;
}

// tanh or erf after each of the seven matrices and before the head: arms simplegpt_dyt and
// simplegpt_derf of simplegpt/placement.json. Truth: arXiv 2503.10622 and 2512.10938.
TEST(Simplegpt, WithTanhOrErfAfterTheMatricesComputesItsFormula) {
  const std::set<std::string> places = {"attn.q.norm",   "attn.k.norm",   "attn.v.norm",
                                        "attn.o.norm",   "mlp.gate.norm", "mlp.up.norm",
                                        "mlp.down.norm", "final_norm"};
  for (const std::string norm : {"dyt", "derf"}) {
    const auto model =
        moved("simplegpt", {{"norm_after", {"q", "k", "v", "o", "gate", "up", "down"}},
                            {"pre_norm", false},
                            {"norm", norm}});
    const auto p = parameters_of(*model);
    const auto pointwise = [&](bool erf, bool shifted, bool biased) {
      return [&p, erf, shifted, biased](const Tensor& x, const std::string& place) {
        const auto part = [&](const std::string& leaf) { return p.at(place + "." + leaf); };
        auto y = part("alpha") * x;
        if (shifted) y = y + part("shift");
        y = part("weight") * (erf ? y.erf() : y.tanh());
        return biased ? y + part("bias") : y;
      };
    };
    const bool erf = norm == "derf";
    std::map<std::string, Place> others = {{"the other function", pointwise(!erf, erf, true)},
                                           {"without bias", pointwise(erf, erf, false)}};
    if (erf) others["without shift"] = pointwise(true, false, true);
    expect_the_formula(*model, simplegpt, places, pointwise(erf, erf, true), others);
  }
}

/// gain (x - mean x) / sqrt(var x + 1e-5), or without the mean.
Place layer_norm(const Parameters& p, bool centred = true) {
  return [&p, centred](const Tensor& x, const std::string& place) {
    const auto c = centred ? x - x.mean(-1, /*keepdim=*/true) : x;
    return p.at(place + ".weight") * c / (c.square().mean(-1, true) + 1e-5).sqrt();
  };
}

// Arms nanogpt_qk and nanogpt_simple of simplegpt/convergence.json.
TEST(Nanogpt, WithNormsAfterTheMatricesComputesItsFormula) {
  const std::pair<Json, std::set<std::string>> arms[] = {
      {{{"norm_after", {"q", "k"}}},
       {"attn.norm", "mlp.norm", "attn.q.norm", "attn.k.norm", "final_norm"}},
      {{{"norm_after", {"q", "k", "v", "o", "up", "down"}}, {"pre_norm", false}},
       {"attn.q.norm", "attn.k.norm", "attn.v.norm", "attn.o.norm", "mlp.up.norm", "mlp.down.norm",
        "final_norm"}}};
  for (const auto& [options, places] : arms) {
    SCOPED_TRACE(options.dump());
    const auto model = moved("nanogpt", options);
    const auto p = parameters_of(*model);
    const auto norm = layer_norm(p);
    // What other QK-norms do: each head for itself.
    const auto by_head = [&](const Tensor& x, const std::string& place) {
      if (!place.ends_with(".q.norm")) return norm(x, place);
      const auto c = heads(x) - heads(x).mean(-1, true);
      return p.at(place + ".weight") * (c / (c.square().mean(-1, true) + 1e-5).sqrt()).flatten(2);
    };
    expect_the_formula(*model, gpt2, places, norm,
                       {{"rmsnorm", layer_norm(p, false)}, {"each head for itself", by_head}});
  }
}

}  // namespace
}  // namespace normbench
