// The Hessian of a loss with respect to activations: closed forms for one layer, and by double
// backward for any scalar function. fp64 everywhere: fp32 leaves 7 digits of a second derivative,
// bf16 none.
//   H = L + C,  L = J^T H_yy J (Gauss-Newton),  C = sum_i (dl/dy_i) d^2 y_i / dx dx^T (curvature)
// Source: arXiv 2602.01212, Theorems 4.1 and 4.2 (statements only); the forms are derived here and
// agree with torch's double backward to 1e-15 (golden files hessian-*).
// m inputs, n outputs of the layer. Units: loss in nats or as given, per activation squared.
#pragma once

#include <torch/types.h>

#include <functional>

namespace normbench {

using ScalarFunction = std::function<torch::Tensor(const torch::Tensor& x)>;

/// y = W x, or with a gain  y = gamma * r z,  z = W x,  r = (mean z^2 + eps)^(-1/2)  (SimpleNorm).
struct Layer {
  torch::Tensor weight;  // W: [n, m]
  torch::Tensor gain;    // gamma: [n]; none: the linear layer
  double eps = 0;        // added to the mean square; the identities in the scale of W need 0

  /// x: [m]. Returns [n]. The operators of the models, differentiable twice.
  torch::Tensor operator()(const torch::Tensor& x) const;
};

/// What a layer's Hessian needs of the loss at y.
struct LossDerivatives {
  torch::Tensor gradient;  // g = dl/dy: [n]
  torch::Tensor hessian;   // H_yy: [n, n]
};

/// A loss of the layer's output.
struct OutputLoss {
  ScalarFunction value;                                                // y: [n] -> a scalar
  std::function<LossDerivatives(const torch::Tensor& y)> derivatives;  // closed forms
};
/// l(y) = g . (y - y0) + (y - y0)^T A (y - y0) / 2 with y0 the y of the call, held constant: g and
/// H_yy = A at every point, which is what a law about the layer alone needs.
OutputLoss frozen_loss(torch::Tensor g, torch::Tensor a);
/// l(y) = ||y - t||^2 / 2.
OutputLoss squared_loss(torch::Tensor t);
/// l(y) = -log softmax(U y)[target], U: [V, n].
OutputLoss cross_entropy_loss(torch::Tensor u, int64_t target);

struct HessianParts {
  torch::Tensor gauss_newton, curvature;  // L, C: [m, m]
  torch::Tensor total() const { return gauss_newton + curvature; }
};
/// Linear: L = W^T H_yy W, C = 0. SimpleNorm, with q = gamma * g:
///   L = W^T Jz^T H_yy Jz W,  Jz = diag(gamma) (r I - r^3 z z^T / n)
///   C = W^T [ -(r^3/n) (q z^T + z q^T + (q.z) I) + 3 (r^5/n^2) (q.z) z z^T ] W
/// x: [m]; derivatives at y = layer(x). Throws c10::Error on other shapes.
HessianParts layer_hessian(const Layer& layer, const torch::Tensor& x,
                           const LossDerivatives& derivatives);

/// v -> H v of a scalar function at x: Hv = d(g . v)/dx with g = df/dx. The graph of g is built
/// once. x of any shape; v and Hv have it too.
class HessianProduct {
 public:
  /// Throws c10::Error when f is not differentiable twice (fused kernels and fused attention are
  /// not; in fp64 every operator here takes its reference).
  HessianProduct(const ScalarFunction& f, const torch::Tensor& x);
  torch::Tensor operator()(const torch::Tensor& v) const;

  const torch::Tensor& value() const { return value_; }        // f(x)
  const torch::Tensor& gradient() const { return gradient_; }  // df/dx, shape of x

 private:
  torch::Tensor x_, value_, graph_, gradient_;
};

/// Every row of H, as [x.numel(), x.numel()]. For at most 1024 variables: 8 MB, 1024 products.
torch::Tensor full_hessian(const HessianProduct& product);

/// max |eigenvalue| of a symmetric matrix (linalg_eigvalsh: both ends count, H is indefinite).
double spectral_norm(const torch::Tensor& symmetric);

}  // namespace normbench
