#include <ATen/ATen.h>

#include "suite/ops/reference.h"
#include "suite/ops/ssd.h"

namespace normbench::ops::reference {

SsdResult ssd(const SsdInput& in) {
  const int64_t batch = in.x.size(0), tokens = in.x.size(1), heads = in.x.size(2);
  auto state = in.state.defined()
                   ? widen(in.state)
                   : at::zeros({batch, heads, in.x.size(3), in.B.size(3)}, widen(in.x).options());
  std::vector<torch::Tensor> y;
  for (int64_t t = 0; t < tokens; ++t) {
    const auto token = ssd_step({.x = in.x.select(1, t),
                                 .dt = in.dt.select(1, t),
                                 .A = in.A,
                                 .B = in.B.select(1, t),
                                 .C = in.C.select(1, t),
                                 .D = in.D,
                                 .state = state});
    y.push_back(token.y);
    state = token.state;
  }
  return {at::stack(y, 1), state};
}

}  // namespace normbench::ops::reference
