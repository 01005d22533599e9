#include "suite/measure/hessian.h"

#include <torch/torch.h>

#include "suite/measure/series.h"
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"

namespace normbench {

torch::Tensor Layer::operator()(const torch::Tensor& x) const {
  const auto z = ops::linear(x, weight);
  return gain.defined() ? ops::rms_norm(z, gain, eps) : z;
}

OutputLoss frozen_loss(torch::Tensor g, torch::Tensor a) {
  return {
      .value =
          [g, a](const torch::Tensor& y) {
            const auto step = y - y.detach();
            return g.dot(step) + 0.5 * step.dot(a.mv(step));
          },
      .derivatives =
          [g, a](const torch::Tensor&) { return LossDerivatives{.gradient = g, .hessian = a}; }};
}

OutputLoss squared_loss(torch::Tensor t) {
  return {.value = [t](const torch::Tensor& y) { return 0.5 * (y - t).square().sum(); },
          .derivatives =
              [t](const torch::Tensor& y) {
                return LossDerivatives{.gradient = y - t,
                                       .hessian = torch::eye(y.size(0), y.options())};
              }};
}

OutputLoss cross_entropy_loss(torch::Tensor u, int64_t target) {
  return {.value = [u, target](const torch::Tensor& y) { return -u.mv(y).log_softmax(0)[target]; },
          .derivatives =
              [u, target](const torch::Tensor& y) {
                const auto p = u.mv(y).softmax(0);  // [V]
                const auto mean = u.t().mv(p);      // [n]
                // sum_i p_i (u_i - mean)(u_i - mean)^T: the difference of U^T diag(p) U and
                // mean mean^T would keep few digits of a confident model's.
                const auto centered = u - mean;
                return LossDerivatives{.gradient = mean - u[target],
                                       .hessian = centered.t().mm(p.unsqueeze(1) * centered)};
              }};
}

HessianParts layer_hessian(const Layer& layer, const torch::Tensor& x,
                           const LossDerivatives& derivatives) {
  const auto& w = layer.weight;
  const auto n = w.size(0);
  const auto& [g, h_yy] = derivatives;
  TORCH_CHECK(g.sizes() == torch::IntArrayRef({n}) && h_yy.sizes() == torch::IntArrayRef({n, n}),
              "layer_hessian: ", n, " outputs, but dl/dy is ", g.sizes(), " and H_yy is ",
              h_yy.sizes());
  const auto around = [&](const torch::Tensor& inner) { return w.t().mm(inner).mm(w); };
  if (!layer.gain.defined())
    return {.gauss_newton = around(h_yy),
            .curvature = torch::zeros({w.size(1), w.size(1)}, w.options())};
  const double size = static_cast<double>(n);
  const auto z = w.mv(x), q = layer.gain * g;
  const auto r = (z.square().mean() + layer.eps).rsqrt();
  const auto zz = torch::outer(z, z), qz = torch::outer(q, z), one = torch::eye(n, z.options());
  const auto jz = layer.gain.unsqueeze(1) * (r * one - r.pow(3) / size * zz);
  const auto along = q.dot(z);
  const auto c =
      -r.pow(3) / size * (qz + qz.t() + along * one) + 3 * r.pow(5) / (size * size) * along * zz;
  return {.gauss_newton = around(jz.t().mm(h_yy).mm(jz)), .curvature = around(c)};
}

HessianProduct::HessianProduct(const ScalarFunction& f, const torch::Tensor& x)
    : x_(x.detach().clone().requires_grad_()) {
  const auto value = f(x_);
  TORCH_CHECK(value.numel() == 1 && value.requires_grad(),
              "HessianProduct: expected a scalar that depends on x, found ", value.sizes());
  graph_ = torch::autograd::grad({value}, {x_}, {}, /*retain_graph=*/true,
                                 /*create_graph=*/true)[0];
  value_ = value.detach();
  gradient_ = graph_.detach();
}

torch::Tensor HessianProduct::operator()(const torch::Tensor& v) const {
  if (!graph_.requires_grad()) return torch::zeros_like(v);  // f is linear
  const auto hv = torch::autograd::grad({graph_}, {x_}, {v.view(x_.sizes())},
                                        /*retain_graph=*/true, /*create_graph=*/false,
                                        /*allow_unused=*/true)[0];
  return hv.defined() ? hv.view(v.sizes()) : torch::zeros_like(v);
}

torch::Tensor full_hessian(const HessianProduct& product) {
  const auto n = product.gradient().numel();
  TORCH_CHECK(n <= 1024, "full_hessian: ", n, " variables, at most 1024; use spectrum.h");
  const auto one = torch::eye(n, product.gradient().options());
  std::vector<torch::Tensor> rows;
  for (int64_t i = 0; i < n; ++i) rows.push_back(product(one[i]));
  return torch::stack(rows);
}

double spectral_norm(const torch::Tensor& symmetric) {
  require_finite("a Hessian", symmetric.norm().item<double>());  // the solver fails on another
  return torch::linalg_eigvalsh(0.5 * (symmetric + symmetric.t())).abs().max().item<double>();
}

}  // namespace normbench
