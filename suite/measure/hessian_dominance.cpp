// Theorem 4.1 of arXiv 2602.01212: H = L + C with ||C|| << ||L|| in high dimension, "if x and the
// loss gradient are not pathologically aligned with W". The ratio ||C|| / ||L|| of SimpleNorm
// against the width d in four settings; a theorem about the first is not one about the others.
//   random            g a random unit vector, H_yy Wishart of norm 1: the hypothesis, about
//   d^(-1/2) squared           ||y - t||^2 / 2, t N(0, 1): y along z, C cancels L cross_entropy U:
//   [V, d] N(0, 1/d), a random target: a model at initialisation cross_entropy_x   the same with
//   logits times logit_scale: a confident model
// W: [d, d] N(0, 1/d), ||x|| = sqrt(d), gamma = 1, eps = 0; a draw of its own at each d.
#include <torch/torch.h>

#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/series.h"

namespace normbench {

namespace {

struct HessianDominanceOptions {
  std::vector<int64_t> widths = {64, 128, 256, 512, 1024};  // d; at most 1024
  int64_t vocabulary_per_width = 8;                         // V / d
  double logit_scale = 8;                                   // of cross_entropy_x
  // The target of cross_entropy_x: the random one of cross_entropy (confident and wrong), or the
  // likeliest token (confident and right), where the ratio is smaller.
  std::string confident_target = "random";

  template <class Visitor>
  void fields(Visitor& v) {
    v.numbers("widths", widths, between(1, 1024));
    v.number("vocabulary_per_width", vocabulary_per_width, at_least(1));
    v.number("logit_scale", logit_scale, above(0));
    v.choice("confident_target", confident_target, {"random", "likeliest"});
  }
};

void run(const HessianDominanceOptions& options, uint64_t seed, Rows& rows) {
  std::map<std::string, std::vector<double>> ratios;
  std::vector<double> sizes;
  for (const auto d : options.widths) {
    const auto name = [&](const char* what) { return what + ("." + std::to_string(d)); };
    const double size = static_cast<double>(d), root = std::sqrt(size);
    sizes.push_back(size);
    const Layer layer{.weight = normal_draw({d, d}, 1 / root, seed, name("weight")),
                      .gain = torch::ones({d}, torch::kDouble)};
    const auto x = root * unit_draw(d, seed, name("x")), y = layer(x);
    const auto vocabulary = options.vocabulary_per_width * d;
    const auto u = normal_draw({vocabulary, d}, 1 / root, seed, name("head"));
    const auto target = integer_draw({1}, vocabulary, seed, name("target")).item<int64_t>();
    const auto confident =
        options.confident_target == "random" ? target : u.mv(y).argmax().item<int64_t>();
    const std::pair<std::string, OutputLoss> settings[] = {
        {"random",
         frozen_loss(unit_draw(d, seed, name("gradient")), wishart_draw(d, seed, name("hessian")))},
        {"squared", squared_loss(normal_draw({d}, 1, seed, name("t")))},
        {"cross_entropy", cross_entropy_loss(u, target)},
        {"cross_entropy_x", cross_entropy_loss(options.logit_scale * u, confident)}};
    for (const auto& [setting, loss] : settings) {
      const auto parts = layer_hessian(layer, x, loss.derivatives(y));
      const double l = spectral_norm(parts.gauss_newton), c = spectral_norm(parts.curvature);
      ratios[setting].push_back(c / l);
      rows.add({{"setting", setting},
                {"width", d},
                {"gauss_newton_norm", l},
                {"curvature_norm", c},
                {"hessian_norm", spectral_norm(parts.total())},
                {"ratio", c / l}});
    }
  }
  for (const auto& [setting, series] : ratios) {
    rows.value(setting + "_ratio_slope", log_slope(sizes, series));
    rows.value(setting + "_ratio_at_last_width", series.back());
  }
}

}  // namespace

MeasureEntry hessian_dominance() {
  return measure_entry<HessianDominanceOptions, run>(
      "hessian_dominance", "||C|| / ||L|| of SimpleNorm against the width (Theorem 4.1)",
      {.widths = {8, 16}});
}

}  // namespace normbench
