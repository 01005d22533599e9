// One row of softmax cross-entropy over the logits z = scale u; value and gradient in one visit.
//   e = exp(z - max z),  loss = log(sum e) + max z - z[target]
//   dz = weight (e / sum e - [v == target]),  du = scale dz,  dscale = sum over rows of dz u
#pragma once

#include "suite/ops/math_formula.h"
#include "suite/ops/row_group.h"

namespace normbench::ops {

/// Returns the loss. scale: [n], or null when every scale is 1. With `gradient`, u is overwritten
/// by du and this row's share is added to dscale (null without scale). e: n floats of scratch.
template <class Group>
NORMBENCH_HD double cross_entropy_row(Group group, int64_t n, float* u, const float* scale,
                                      int64_t target, float weight, bool gradient, float* dscale,
                                      float* e) {
  const float u_target = u[target];
  float top, z_target = u_target;
  if (scale) {
    z_target *= scale[target];
    top = group.max(n, [=](int64_t v) { return scale[v] * u[v]; });
  } else {
    top = group.max(n, [=](int64_t v) { return u[v]; });
  }
  const auto keep = [=](int64_t v, float z) { return e[v] = exp_formula(z - top); };
  const float total = scale ? group.sum(n, [=](int64_t v) { return keep(v, scale[v] * u[v]); })
                            : group.sum(n, [=](int64_t v) { return keep(v, u[v]); });
  if (gradient) {
    const float share = weight / total;
    if (scale) {
      group.each(n, [=](int64_t v) {
        const float dz = e[v] * share;
        dscale[v] += dz * u[v];
        u[v] = scale[v] * dz;
      });
      group.once([=] {
        dscale[target] -= weight * u_target;
        u[target] -= weight * scale[target];
      });
    } else {
      group.each(n, [=](int64_t v) { u[v] = e[v] * share; });
      group.once([=] { u[target] -= weight; });
    }
  }
  return log_formula(total) + (static_cast<double>(top) - static_cast<double>(z_target));
}

}  // namespace normbench::ops
