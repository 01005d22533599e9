// Golden files of activation Hessians: one layer in closed form and by double backward
// (check_layer_hessian), and a network from the residual stream entering block 1 on
// (check_network_hessian).
#include <torch/torch.h>

#include "suite/app/parity_case.h"
#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/network.h"

namespace normbench {

namespace {

/// The keys whose text is a meaning that this file computes, letter for letter.
void require_texts(const JsonObject& config,
                   const std::vector<std::pair<const char*, const char*>>& texts) {
  for (const auto& [key, text] : texts) {
    const auto found = config.required<std::string>(key);
    if (found != text) config.fail(key, "parity cannot rebuild this", found, text);
  }
}

OutputLoss read_loss(ParityCase& golden, const JsonObject& config) {
  const auto loss = config.required<std::string>("loss");
  const std::string frozen =
      "l(y) = g.(y-y0) + 0.5 (y-y0)^T A (y-y0), y0 = constant equal to y(x) at the evaluation "
      "point (for c-scaled W: y at that cW), so dl/dy = g and H_yy = A there";
  if (loss == frozen) return frozen_loss(golden.input("input.g"), golden.input("input.A"));
  if (loss == "l(y) = 0.5 ||y - t||^2") return squared_loss(golden.input("input.t"));
  if (loss == "l(y) = -log softmax(U y)[target]")
    return cross_entropy_loss(golden.input("input.U"),
                              golden.input("input.target").item<int64_t>());
  config.fail("loss", "parity does not know this loss", loss, frozen);
}

void expect_norm(ParityCase& golden, const std::string& name, double norm) {
  golden.expect(name, torch::scalar_tensor(norm, torch::kDouble));
}

/// H and its spectrum, and H v for the file's directions, each of the shape of x.
void expect_hessian(ParityCase& golden, const HessianProduct& product, const torch::Tensor& h) {
  golden.expect("out.loss", product.value());
  golden.expect("out.hessian", h);
  golden.expect("out.eigenvalues", torch::linalg_eigvalsh(0.5 * (h + h.t())));
  expect_norm(golden, "out.spectral_norm", spectral_norm(h));
  std::vector<torch::Tensor> products;
  for (const auto& v : golden.input("input.v").unbind()) products.push_back(product(v));
  golden.expect("out.hvp", torch::stack(products));
}

/// out.spectral_norm_c: the norm at each factor of input.c.
template <class NormAt>
void expect_scaled_norms(ParityCase& golden, NormAt norm_at) {
  std::vector<double> norms;
  const auto c = golden.input("input.c");
  for (int64_t i = 0; i < c.size(0); ++i) norms.push_back(norm_at(c[i].item<double>()));
  golden.expect("out.spectral_norm_c", torch::tensor(norms, torch::kDouble));
}

}  // namespace

void check_layer_hessian(ParityCase& golden, const JsonObject& config) {
  const bool normalized = config.required<std::string>("op") == "hessian_simplenorm";
  require_texts(
      config,
      {{"operator", normalized ? "y = gamma * z / sqrt(mean(z^2) + eps), z = W x" : "y = W x"},
       {"gn",
        "out.hessian_gn = J^T H_yy J (L of spec 4.2), out.hessian_curv = sum_i "
        "(dl/dy_i) d^2 y_i/dx dx^T (C of spec 4.2)"},
       {"hvp", "out.hvp[k] = H input.v[k]"},
       {"spectral_norm", "max |eigenvalue| of H = d^2 l / dx dx^T"},
       {"spectral_norm_c", "out.spectral_norm_c[i]: same with W replaced by input.c[i]*W"}});
  const auto loss = read_loss(golden, config);
  const auto x = golden.input("input.x");
  const Layer layer{.weight = golden.input("input.W"),
                    .gain = normalized ? golden.input("input.gamma") : torch::Tensor(),
                    .eps = config.required<double>("eps")};
  if (!normalized) require_value(config, "eps", 0.0);
  require_value(config, "d_out", layer.weight.size(0));
  require_value(config, "d_in", layer.weight.size(1));

  const auto y = layer(x);
  const auto derivatives = loss.derivatives(y);
  const auto parts = layer_hessian(layer, x, derivatives);
  golden.expect("out.y", y);
  golden.expect("out.grad_y", derivatives.gradient);
  golden.expect("out.hessian_gn", parts.gauss_newton);
  golden.expect("out.hessian_curv", parts.curvature);
  golden.expect_values("out.hessian, L + C", parts.total(), golden.tensor("out.hessian"));
  expect_norm(golden, "out.norm_gn", spectral_norm(parts.gauss_newton));
  expect_norm(golden, "out.norm_curv", spectral_norm(parts.curvature));
  expect_norm(golden, "out.spectral_norm_W", matrix_norm(layer.weight));

  const HessianProduct product([&](const auto& at) { return loss.value(layer(at)); }, x);
  golden.expect("out.grad_x", product.gradient());
  expect_hessian(golden, product, full_hessian(product));
  expect_scaled_norms(golden, [&](double c) {
    Layer scaled = layer;
    scaled.weight = c * layer.weight;
    return spectral_norm(layer_hessian(scaled, x, loss.derivatives(scaled(x))).total());
  });
}

void read_network_hessian(const JsonObject& config) {
  require_texts(
      config,
      {{"op", "hessian_net"},
       {"loss", "mean token cross-entropy"},
       {"hessian_wrt",
        "activations entering block 1 (= out.hidden.0), flattened [T*d_model] row-major, B=1"},
       {"spectral_norm", "max |eigenvalue|"},
       {"spectral_norm_c",
        "out.spectral_norm_c[i]: every 2-D block matrix (not embed, head, gains) multiplied by "
        "input.c[i], block-1 input recomputed"}});
}

void check_network_hessian(ParityCase& golden, Decoder& model, const torch::Tensor& tokens,
                           const torch::Tensor& targets) {
  for (auto& weight : model.parameters()) weight.requires_grad_(false);
  // All rows of H at once: n copies of the sequence, each with a direction of its own.
  const auto hessian_at = [&](const torch::Tensor& h) {  // [1, T, D]
    const auto n = h.numel();
    const auto copies = h.expand({n, -1, -1}), copied_targets = targets.expand({n, -1});
    const HessianProduct product(
        [&](const auto& x) {
          return static_cast<double>(n) * model.loss_from(1, x, copied_targets);
        },
        copies);
    return product(torch::eye(n, h.options()).view(copies.sizes())).view({n, n});
  };
  const auto h = model.stream_into(1, tokens);
  const HessianProduct product([&](const auto& x) { return model.loss_from(1, x, targets); }, h);
  golden.expect("out.hidden.0", h);
  golden.expect("out.grad_h", product.gradient());
  expect_hessian(golden, product, hessian_at(h));
  expect_scaled_norms(golden, [&](double c) {
    auto matrices = block_matrices(model, "all");
    std::vector<torch::Tensor> stored;
    for (auto& [name, w] : matrices) {
      stored.push_back(w.clone());
      w.mul_(c);
    }
    const double norm = spectral_norm(hessian_at(model.stream_into(1, tokens)));
    for (size_t i = 0; i < stored.size(); ++i) matrices[i].second.copy_(stored[i]);
    return norm;
  });
}

}  // namespace normbench
