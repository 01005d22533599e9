#include "suite/ops/initialize.h"

#include <ATen/ATen.h>

#include "suite/base/random.h"

namespace normbench::ops {

void fill_normal_(torch::Tensor w, double std, uint64_t seed, const std::string& name) {
  const RandomStream stream(seed, name);
  auto values = at::empty({w.numel()}, at::kDouble);
  auto* out = values.data_ptr<double>();
  for (int64_t i = 0; i < w.numel(); ++i) out[i] = std * stream.normal(static_cast<uint64_t>(i));
  const at::NoGradGuard no_grad;
  w.copy_(values.view(w.sizes()));
}

}  // namespace normbench::ops
