// What holds exactly for SimpleNorm y = gamma * z / rms(z), z = W x, at eps = 0, whatever the loss
// of y; and <W, dl/dW> = 0 for each matrix of a SimpleGPT network. Everything by automatic
// differentiation of the operators that the models use, so that these are statements about them.
// Each value is a relative error, 0 in exact arithmetic. c is `scale`.
//   scale_loss, scale_jacobian, scale_hessian   l, J = dy/dx and H do not change under W -> c W
//   jacobian_along_x    J x = 0                 gradient_along_x   g.x = 0, g = dl/dx
//   hessian_along_x     H x = -g                hessian_scale_x    H(c x) = H(x) / c^2
//   weight_gradient     <W, dl/dW> = 0          network_weight_gradient, the same in a network
// Source: Euler's identities for functions of degree 0; equations of arXiv 2602.01212.
#include <torch/torch.h>

#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/network.h"

namespace normbench {

namespace {

struct HessianIdentitiesOptions {
  int64_t width_in = 80;     // m; at most 1024
  int64_t width_out = 64;    // n
  int64_t vocabulary = 512;  // V of the cross-entropy
  double scale = 3;          // c; no power of two, which would be exact
  double eps = 0;  // added to the mean square: above 0 the identities fail by eps / mean z^2
  int64_t num_layers = 2;  // of the network, whose other sizes are those of hessian_network

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("width_in", width_in, at_least(1));
    v.number("width_out", width_out, at_least(1));
    v.number("vocabulary", vocabulary, at_least(1));
    v.number("scale", scale, above(0));
    v.number("eps", eps, at_least(0));
    v.number("num_layers", num_layers, at_least(1));
  }
};

struct Differentials {
  double loss;
  torch::Tensor jacobian, gradient, hessian, weight_gradient;
};

Differentials differentiate(Layer layer, const OutputLoss& loss, const torch::Tensor& x) {
  const auto f = [&](const torch::Tensor& at) { return loss.value(layer(at)); };
  const HessianProduct product(f, x);
  const auto leaf = x.detach().clone().requires_grad_();
  const auto y = layer(leaf);
  std::vector<torch::Tensor> jacobian;
  for (int64_t i = 0; i < y.size(0); ++i)
    jacobian.push_back(torch::autograd::grad({y[i]}, {leaf}, {}, /*retain_graph=*/true)[0]);
  layer.weight = layer.weight.detach().clone().requires_grad_();
  const auto weight_gradient = torch::autograd::grad({f(x)}, {layer.weight})[0];
  return {.loss = product.value().item<double>(),
          .jacobian = torch::stack(jacobian),
          .gradient = product.gradient(),
          .hessian = full_hessian(product),
          .weight_gradient = weight_gradient};
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

double cosine(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a * b).sum().abs() / (a.norm() * b.norm())).item<double>();
}

/// Identity -> error.
std::vector<std::pair<std::string, double>> layer_errors(const Layer& layer, const OutputLoss& loss,
                                                         const torch::Tensor& x, double c) {
  const auto at = differentiate(layer, loss, x), farther = differentiate(layer, loss, c * x);
  auto scaled = layer;
  scaled.weight = c * layer.weight;
  const auto other = differentiate(scaled, loss, x);
  const double size = std::max(std::abs(at.loss), 1.0);  // the frozen loss is 0 at its point
  const auto jx = at.jacobian.mv(x);
  return {{"scale_loss", std::abs(other.loss - at.loss) / size},
          {"scale_jacobian", distance(other.jacobian, at.jacobian)},
          {"scale_hessian", distance(other.hessian, at.hessian)},
          {"jacobian_along_x", (jx.norm() / (at.jacobian.norm() * x.norm())).item<double>()},
          {"gradient_along_x", cosine(at.gradient, x)},
          {"hessian_along_x", distance(at.hessian.mv(x), -at.gradient)},
          {"hessian_scale_x", distance(c * c * farther.hessian, at.hessian)},
          {"weight_gradient", cosine(layer.weight, at.weight_gradient)}};
}

void run(const HessianIdentitiesOptions& options, uint64_t seed, Rows& rows) {
  if (options.scale == 1)
    throw UserError({.what = "every identity holds where nothing is scaled",
                     .where = "scale",
                     .found = "1",
                     .expected = "a number other than 1"});
  const auto m = options.width_in, n = options.width_out, vocabulary = options.vocabulary;
  const double root = std::sqrt(static_cast<double>(m));
  const Layer layer{.weight = normal_draw({n, m}, 1 / root, seed, "weight"),
                    .gain = 1 + normal_draw({n}, 0.2, seed, "gain"),
                    .eps = options.eps};
  const auto x = root * unit_draw(m, seed, "x");
  const std::pair<std::string, OutputLoss> losses[] = {
      {"frozen", frozen_loss(unit_draw(n, seed, "gradient"), wishart_draw(n, seed, "hessian"))},
      {"squared", squared_loss(normal_draw({n}, 1, seed, "t"))},
      {"cross_entropy",
       cross_entropy_loss(
           normal_draw({vocabulary, n}, 1 / std::sqrt(static_cast<double>(n)), seed, "head"),
           integer_draw({1}, vocabulary, seed, "target").item<int64_t>())}};
  std::map<std::string, double> worst;
  const auto note = [&](const std::string& where, const std::string& identity, double error) {
    worst[identity] = std::max(worst[identity], error);
    rows.add({{"where", where}, {"identity", identity}, {"error", error}});
  };
  for (const auto& [name, loss] : losses)
    for (const auto& [identity, error] : layer_errors(layer, loss, x, options.scale))
      note(name, identity, error);

  const auto network =
      make_network("simplegpt", {.num_layers = options.num_layers, .eps = options.eps}, seed);
  network.model->loss(network.tokens, network.targets).backward();
  for (const auto& [name, w] : block_matrices(*network.model, "all"))
    note(name, "network_weight_gradient", cosine(w, w.grad()));
  for (const auto& [identity, error] : worst) rows.value(identity, error);
}

}  // namespace

MeasureEntry hessian_identities() {
  return measure_entry<HessianIdentitiesOptions, run>(
      "hessian_identities", "identities of a layer that does not see the scale of its matrix",
      {.width_in = 10, .width_out = 8, .vocabulary = 16});
}

}  // namespace normbench
