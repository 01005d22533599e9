#include "suite/measure/draws.h"

#include <torch/torch.h>

#include "suite/base/random.h"
#include "suite/ops/initialize.h"

namespace normbench {

torch::Tensor normal_draw(torch::IntArrayRef shape, double std, uint64_t seed,
                          const std::string& name) {
  auto w = torch::empty(shape, torch::kDouble);
  ops::fill_normal_(w, std, seed, name);
  return w;
}

torch::Tensor unit_draw(int64_t n, uint64_t seed, const std::string& name) {
  const auto v = normal_draw({n}, 1.0, seed, name);
  return v / v.norm();
}

torch::Tensor wishart_draw(int64_t n, uint64_t seed, const std::string& name) {
  const auto g = normal_draw({n, n}, 1.0, seed, name);
  const auto a = g.mm(g.t());
  return a / torch::linalg_eigvalsh(a)[-1];
}

torch::Tensor integer_draw(torch::IntArrayRef shape, int64_t bound, uint64_t seed,
                           const std::string& name) {
  const RandomStream stream(seed, name);
  auto values = torch::empty(shape, torch::kLong);
  auto* out = values.data_ptr<int64_t>();
  for (int64_t i = 0; i < values.numel(); ++i)
    out[i] =
        static_cast<int64_t>(stream.bits(static_cast<uint64_t>(i)) % static_cast<uint64_t>(bound));
  return values;
}

double matrix_norm(const torch::Tensor& w) { return torch::linalg_svdvals(w)[0].item<double>(); }

double stable_rank(const torch::Tensor& w) {
  const double norm = matrix_norm(w);
  return w.square().sum().item<double>() / (norm * norm);
}

}  // namespace normbench
