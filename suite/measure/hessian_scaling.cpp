// Theorem 4.2 of arXiv 2602.01212: ||H|| of the linear layer grows as ||W||_2^2, that of SimpleNorm
// not at all. W <- c W for a grid of c, everything else fixed.
//   W: [d, d] N(0, 1/d), ||x|| = sqrt(d), gamma = 1
//   frozen: g a random unit vector, H_yy Wishart of norm 1, both at every c (the law's hypothesis)
//   cross_entropy: U: [V, d] N(0, 1/d); there H_yy and g depend on y, and the linear slope is not 2
#include <torch/torch.h>

#include <cstdio>

#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/series.h"

namespace normbench {

namespace {

struct HessianScalingOptions {
  int64_t width = 256;  // d; at most 1024
  // c. 3 stands among them because a product with a power of two is exact: it alone shows rounding.
  std::vector<double> scales = {0.0625, 0.25, 1, 3, 4, 16, 64};
  std::vector<double> eps = {0, 1e-5};  // of SimpleNorm
  int64_t vocabulary_per_width = 8;     // V / d
  int64_t num_products = 2;             // Hv by double backward beside each closed form

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("width", width, at_least(1));
    v.numbers("scales", scales, above(0));
    v.numbers("eps", eps, at_least(0));
    v.number("vocabulary_per_width", vocabulary_per_width, at_least(1));
    v.number("num_products", num_products, at_least(0));
  }
};

struct Variant {
  std::string name, op;  // prefix of its values
  double eps;
  torch::Tensor gain;  // none: linear
};

std::vector<Variant> variants(const HessianScalingOptions& options) {
  std::vector<Variant> all = {{"linear", "linear", 0, {}}};
  for (const double eps : options.eps) {
    char name[40];
    std::snprintf(name, sizeof name, "simplenorm_eps_%g", eps);
    all.push_back({name, "simplenorm", eps, torch::ones({options.width}, torch::kDouble)});
  }
  return all;
}

/// max |Hv by double backward - closed form| / |Hv| over random v.
double closed_form_error(const Layer& layer, const OutputLoss& loss, const torch::Tensor& x,
                         const torch::Tensor& h, int64_t num_products, uint64_t seed) {
  const HessianProduct product([&](const auto& at) { return loss.value(layer(at)); }, x);
  double worst = 0;
  for (int64_t i = 0; i < num_products; ++i) {
    const auto v = unit_draw(x.size(0), seed, "direction." + std::to_string(i));
    const auto expected = h.mv(v);
    worst = std::max(worst, ((product(v) - expected).norm() / expected.norm()).item<double>());
  }
  return worst;
}

void run(const HessianScalingOptions& options, uint64_t seed, Rows& rows) {
  const auto d = options.width;
  const double root = std::sqrt(static_cast<double>(d));
  const auto w = normal_draw({d, d}, 1 / root, seed, "weight"), x = root * unit_draw(d, seed, "x");
  const double norm_w = matrix_norm(w);
  const auto vocabulary = options.vocabulary_per_width * d;
  const std::pair<std::string, OutputLoss> losses[] = {
      {"frozen", frozen_loss(unit_draw(d, seed, "gradient"), wishart_draw(d, seed, "hessian"))},
      {"cross_entropy",
       cross_entropy_loss(normal_draw({vocabulary, d}, 1 / root, seed, "head"),
                          integer_draw({1}, vocabulary, seed, "target").item<int64_t>())}};
  double error = 0;
  for (const auto& variant : variants(options)) {
    const bool linear = !variant.gain.defined();
    for (const auto& [loss_name, loss] : losses) {
      std::vector<double> norms_w, norms_h, unscaled;
      for (const double c : options.scales) {
        const Layer layer{.weight = c * w, .gain = variant.gain, .eps = variant.eps};
        const auto h = layer_hessian(layer, x, loss.derivatives(layer(x))).total();
        // Not for the cross-entropy: saturated, its double backward keeps fewer digits than the
        // form.
        if (loss_name == "frozen")
          error = std::max(error, closed_form_error(layer, loss, x, h, options.num_products, seed));
        norms_w.push_back(c * norm_w);
        norms_h.push_back(spectral_norm(h));
        unscaled.push_back(norms_h.back() / (linear ? c * c : 1));
        rows.add({{"operator", variant.op},
                  {"loss", loss_name},
                  {"eps", variant.eps},
                  {"c", c},
                  {"weight_norm", norms_w.back()},
                  {"hessian_norm", norms_h.back()}});
      }
      // change: of ||H|| (of ||H|| / c^2 for the linear layer) over the grid.
      const auto name = variant.name + "_" + loss_name;
      rows.value(name + "_slope", log_slope(norms_w, norms_h));
      rows.value(name + "_change", relative_change(unscaled));
    }
  }
  rows.value("closed_form_error", error);
}

}  // namespace

MeasureEntry hessian_scaling() {
  return measure_entry<HessianScalingOptions, run>(
      "hessian_scaling", "||H_xx|| against ||W||_2, linear and SimpleNorm (Theorem 4.2)",
      {.width = 8, .scales = {0.5, 3}, .eps = {0}});
}

}  // namespace normbench
