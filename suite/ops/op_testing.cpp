#include "suite/ops/op_testing.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <limits>

#include "suite/base/errors.h"
#include "suite/base/safetensors.h"
#include "suite/ops/initialize.h"

namespace normbench::ops::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

torch::Tensor objective(const Operator& op, const std::vector<torch::Tensor>& inputs) {
  const auto y = op(inputs);
  return (y.to(torch::kDouble) * normal(y.sizes(), "cotangent", torch::kDouble)).sum();
}

}  // namespace

double relative_error(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.defined() || !b.defined() || a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type())
    return kInfinity;
  if (b.numel() == 0) return 0;
  const auto x = a.detach().to(torch::kDouble), y = b.detach().to(torch::kDouble);
  if (!x.isfinite().all().item<bool>() || !y.isfinite().all().item<bool>()) return kInfinity;
  const double difference = (x - y).abs().max().item<double>();
  return difference == 0 ? 0 : difference / y.abs().max().item<double>();
}

torch::Tensor normal(torch::IntArrayRef shape, const std::string& name, torch::ScalarType type) {
  auto x = at::empty(shape, type);
  fill_normal_(x, 1.0, /*seed=*/0, name);
  return x;
}

std::vector<torch::Tensor> value_and_gradients(const Operator& op,
                                               const std::vector<torch::Tensor>& inputs) {
  std::vector<torch::Tensor> leaves;
  for (const auto& x : inputs) leaves.push_back(x.detach().requires_grad_(x.is_floating_point()));
  const auto y = op(leaves);
  const auto cotangent = normal(y.sizes(), "cotangent", torch::kDouble).to(y.scalar_type());
  (y * cotangent).sum().backward();
  std::vector<torch::Tensor> result = {y.detach()};
  for (const auto& x : leaves) {
    if (x.requires_grad()) result.push_back(x.grad());
  }
  return result;
}

double worst_error(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size() || a.empty()) return kInfinity;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, relative_error(a[i], b[i]));
  return worst;
}

double central_difference_error(const Operator& op, const std::vector<torch::Tensor>& inputs,
                                double step) {
  const auto exact = value_and_gradients(op, inputs);
  std::vector<torch::Tensor> numeric = {exact[0]};
  const torch::NoGradGuard no_grad;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].is_floating_point()) continue;
    NORMBENCH_CHECK(inputs[k].scalar_type() == torch::kDouble, "central differences need double");
    auto moved = inputs;
    moved[k] = inputs[k].clone();
    auto entries = moved[k].view(-1);
    auto gradient = at::zeros_like(entries);
    const auto at = [&](int64_t i, double value) {
      entries[i] = value;
      return objective(op, moved).item<double>();
    };
    for (int64_t i = 0; i < entries.numel(); ++i) {
      const double x = entries[i].item<double>();
      const double near = at(i, x + step) - at(i, x - step),
                   far = at(i, x + 2 * step) - at(i, x - 2 * step);
      gradient[i] = (8 * near - far) / (12 * step);
      entries[i] = x;
    }
    numeric.push_back(gradient.view(inputs[k].sizes()));
  }
  return worst_error(exact, numeric);
}

double kernel_error(const Operator& op, const std::vector<torch::Tensor>& inputs) {
  auto exact_inputs = inputs;
  for (auto& x : exact_inputs) {
    if (x.is_floating_point()) x = x.to(torch::kDouble);
  }
  auto exact = value_and_gradients(op, exact_inputs);
  for (auto& x : exact) x = x.to(torch::kFloat);
  return worst_error(value_and_gradients(op, inputs), exact);
}

double stride_error(const Operator& op, const std::vector<torch::Tensor>& inputs) {
  auto strided = inputs;
  for (auto& x : strided) {
    if (x.dim() > 1) x = x.transpose(0, -1).contiguous().transpose(0, -1);
  }
  return worst_error(value_and_gradients(op, strided), value_and_gradients(op, inputs));
}

double thread_error(const Operator& op, const std::vector<torch::Tensor>& inputs) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = value_and_gradients(op, inputs);
  at::set_num_threads(3);
  const auto three = value_and_gradients(op, inputs);
  at::set_num_threads(before);
  return worst_error(three, one);
}

bool takes_kernel(const Operator& op, const std::vector<torch::Tensor>& inputs) {
  std::vector<torch::Tensor> leaves, variables;
  for (const auto& x : inputs) leaves.push_back(x.detach().requires_grad_(x.is_floating_point()));
  for (const auto& x : leaves) {
    if (x.requires_grad()) variables.push_back(x);
  }
  try {
    torch::autograd::grad({op(leaves).sum()}, variables, {}, /*retain_graph=*/true,
                          /*create_graph=*/true);
  } catch (const c10::Error& error) {
    return std::string(error.what()).find("set_fused") != std::string::npos;
  }
  return false;
}

torch::Tensor golden(const std::string& file, const std::string& name) {
  const SafetensorsFile data(std::string(NORMBENCH_SOURCE_DIR "/baselines/golden/") + file +
                             ".safetensors");
  const auto& entry = data.tensors().at(name);
  NORMBENCH_CHECK(entry.dtype == "F64", file + ": " + name + " is " + entry.dtype);
  auto x = at::empty(entry.shape, at::kDouble);
  std::memcpy(x.data_ptr<double>(), entry.bytes.data(), entry.bytes.size());
  return x;
}

}  // namespace normbench::ops::testing
