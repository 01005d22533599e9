#include "suite/measure/nu_error.h"

#include <torch/torch.h>

#include <cmath>

#include "suite/base/interrupt.h"
#include "suite/ops/initialize.h"

namespace normbench {
namespace {

/// [rows, columns], every row a uniform direction.
torch::Tensor unit_rows(int64_t rows, int64_t columns, uint64_t seed, const std::string& name) {
  torch::Tensor w = torch::empty({rows, columns}, torch::kDouble);
  ops::fill_normal_(w, 1, seed, name);
  return w / w.norm(2, 1, /*keepdim=*/true);
}

double mean_norm(const torch::Tensor& y) { return y.norm(2, 1).mean().item<double>(); }

}  // namespace

void measure_nu_error(const NuErrorOptions& o, uint64_t seed, Rows& rows) {
  if (o.width < 1 || o.head_width < 1 || o.mlp_width < 1 || o.matrices < 1 || o.inputs < 1 ||
      o.width % o.head_width != 0)
    throw UserError({.what = "sizes that no model has",
                     .where = "nu_error",
                     .found = std::to_string(o.width) + " / " + std::to_string(o.head_width) +
                              " / " + std::to_string(o.mlp_width),
                     .expected = "positive, the width a multiple of the head width"});
  torch::NoGradGuard no_grad;
  const auto d = static_cast<double>(o.width), h = static_cast<double>(o.head_width),
             f = static_cast<double>(o.mlp_width);
  // The mean over matrices of the mean norm, with one row a matrix.
  const auto report = [&](const std::string& factor, const auto& norm_of_draw) {
    double sum = 0;
    for (int64_t i = 0; i < o.matrices; ++i) {
      stop_if_interrupted();
      const double norm = norm_of_draw(factor + "." + std::to_string(i));
      rows.add({{"factor", factor}, {"mean_norm", norm}});
      sum += norm;
    }
    rows.value(factor + "_percent", 100 * std::abs(sum / static_cast<double>(o.matrices) - 1));
  };
  const auto matrix = [&](double nu, int64_t out, int64_t in, double input_norm) {
    return [&o, seed, nu, out, in, input_norm](const std::string& name) {
      const auto x = input_norm * unit_rows(o.inputs, in, seed, name + ".x");
      return mean_norm(nu * x.matmul(unit_rows(out, in, seed, name + ".w").t()));
    };
  };
  report("qkv", matrix(std::sqrt(d / h), o.head_width, o.width, 1));
  report("p", matrix(std::sqrt(h / d), o.width, o.width, std::sqrt(d / h)));
  report("uz", matrix(std::sqrt(d / f), o.mlp_width, o.width, 1));
  report("d", matrix(std::sqrt(f / d), o.width, o.mlp_width, 1));
  report("acf", [&](const std::string& name) {
    const auto u = unit_rows(o.inputs, o.mlp_width, seed, name + ".u"),
               z = unit_rows(o.inputs, o.mlp_width, seed, name + ".z") * (std::sqrt(f) / 2);
    return mean_norm(o.nu_acf * u * torch::silu(z));
  });
  report("alpha", [&](const std::string& name) {
    const auto x = unit_rows(o.inputs, o.width, seed, name + ".h"),
               b = unit_rows(o.inputs, o.width, seed, name + ".b");
    return mean_norm((x + o.alpha * (b - x)) /
                     std::sqrt(o.alpha * o.alpha + (1 - o.alpha) * (1 - o.alpha)));
  });
}

MeasureEntry nu_error() {
  return measure_entry<NuErrorOptions, measure_nu_error>(
      "nu_error", "arXiv 2505.22014 v2, Table N.2: by how much each nu misses",
      {.width = 32, .head_width = 16, .mlp_width = 64, .matrices = 1, .inputs = 4});
}

}  // namespace normbench
