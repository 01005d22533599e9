// How far Theorem 4.2 of arXiv 2602.01212 reaches: SimpleNorm does not see the scale of W, but a
// spike W = W0 + a p q^T raises ||W||_2 at a falling stable rank, and with it ||H||.
//   ||L|| <= prefactor gamma_max^2 ||H_yy||,  prefactor = n ||W||_2^2 / ||W x||^2
// W0: [d, d] N(0, 1/d); p, q random unit vectors; ||x|| = sqrt(d), of a random direction (generic)
// or with cos(x, q) = `alignment` (aligned); frozen g (unit) and H_yy (Wishart, norm 1); gamma = 1.
#include <torch/torch.h>

#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/hessian_tasks.h"

namespace normbench {

namespace {

struct HessianSpikeOptions {
  int64_t width = 256;                                               // d; at most 1024
  std::vector<double> spikes = {0, 2, 4, 8, 16, 32, 64, 256, 1024};  // a
  double alignment = 0.5;                                            // from 0 to 1
  double eps = 0;                                                    // of SimpleNorm

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("width", width, at_least(1));
    v.numbers("spikes", spikes, at_least(0));
    v.number("alignment", alignment, between(0, 1));
    v.number("eps", eps, at_least(0));
  }
};

void run(const HessianSpikeOptions& options, uint64_t seed, Rows& rows) {
  const auto d = options.width;
  const double size = static_cast<double>(d), root = std::sqrt(size), cosine = options.alignment;
  const auto w0 = normal_draw({d, d}, 1 / root, seed, "weight");
  const auto p = unit_draw(d, seed, "p"), q = unit_draw(d, seed, "q");
  const auto generic = unit_draw(d, seed, "x"), across = generic - generic.dot(q) * q;
  const auto loss = frozen_loss(unit_draw(d, seed, "gradient"), wishart_draw(d, seed, "hessian"));
  const std::pair<std::string, torch::Tensor> inputs[] = {
      {"generic", root * generic},
      {"aligned", root * (cosine * q + std::sqrt(1 - cosine * cosine) * across / across.norm())}};
  double over_bound = 0;
  for (const auto& [input, x] : inputs) {
    for (const std::string op : {"linear", "simplenorm"}) {
      std::vector<double> norms;
      for (const double a : options.spikes) {
        const Layer layer{
            .weight = w0 + a * torch::outer(p, q),
            .gain = op == "simplenorm" ? torch::ones({d}, torch::kDouble) : torch::Tensor(),
            .eps = options.eps};
        const auto derivatives = loss.derivatives(layer(x));
        const auto parts = layer_hessian(layer, x, derivatives);
        const double norm_w = matrix_norm(layer.weight);
        const double prefactor =
            size * norm_w * norm_w / layer.weight.mv(x).square().sum().item<double>();
        norms.push_back(spectral_norm(parts.total()));
        if (op == "simplenorm")
          over_bound = std::max(over_bound, spectral_norm(parts.gauss_newton) /
                                                (prefactor * spectral_norm(derivatives.hessian)));
        rows.add({{"input", input},
                  {"operator", op},
                  {"spike", a},
                  {"weight_norm", norm_w},
                  {"stable_rank", stable_rank(layer.weight)},
                  {"prefactor", prefactor},
                  {"hessian_norm", norms.back()}});
      }
      const auto name = op + "_" + input;
      rows.value(name + "_peak_growth", *std::max_element(norms.begin(), norms.end()) / norms[0]);
      rows.value(name + "_last_growth", norms.back() / norms[0]);
    }
  }
  rows.value("gauss_newton_over_bound", over_bound);  // at most 1
}

}  // namespace

MeasureEntry hessian_spike() {
  return measure_entry<HessianSpikeOptions, run>(
      "hessian_spike", "||H_xx|| when W grows by one singular value (reach of Theorem 4.2)",
      {.width = 8, .spikes = {0, 8}});
}

}  // namespace normbench
