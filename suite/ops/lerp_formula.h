// Row formulas of the two residual updates. "sum" runs over the row, "rows" over the rows.
//   Normalised LERP:  a = h ra (or h), b = y rb, c = a + alpha (b - a), out = c rc, r* = 1 / || ||
//     dc = rc (dout - out sum(dout out)),  da = (1 - alpha) dc,  db = alpha dc,  dalpha = sum over
//     rows of dc (b - a) dh = ra (da - a sum(da a)) (or da),  dy = rb (db - b sum(db b))
//   Scaled LERP:      out = keep h + add b, b = y rb (or y), keep = nu (1 - alpha), add = nu alpha
//     dh = keep dout,  db = add dout,  dkeep = sum over rows of dout h,  dadd = sum over rows of
//     dout b
#pragma once

#include "suite/ops/row_group.h"

namespace normbench::ops {

template <class Group>
NORMBENCH_HD LerpRoots lerp_normalize_row(Group group, int64_t n, const float* h, const float* y,
                                          const float* alpha, bool normalize_h, float* out) {
  const float ra =
      normalize_h ? inverse_root(group.sum(n, [=](int64_t i) { return h[i] * h[i]; })) : 1.0f;
  const float rb = inverse_root(group.sum(n, [=](int64_t i) { return y[i] * y[i]; }));
  group.each(n, [=](int64_t i) { out[i] = ra * h[i] + alpha[i] * (rb * y[i] - ra * h[i]); });
  const float rc = inverse_root(group.sum(n, [=](int64_t i) { return out[i] * out[i]; }));
  group.each(n, [=](int64_t i) { out[i] *= rc; });
  return {ra, rb, rc};
}

/// Adds this row's share to dalpha.
template <class Group>
NORMBENCH_HD void lerp_normalize_row_backward(Group group, int64_t n, const float* h,
                                              const float* y, const float* alpha, bool normalize_h,
                                              LerpRoots root, const float* out, const float* dout,
                                              float* dh, float* dy, float* dalpha) {
  const auto [ra, rb, rc] = root;
  const float along = group.sum(n, [=](int64_t i) { return dout[i] * out[i]; });
  const auto dc = [=](int64_t i) { return rc * (dout[i] - out[i] * along); };
  const float along_b = group.sum(n, [=](int64_t i) { return alpha[i] * dc(i) * (rb * y[i]); });
  const float along_a =
      normalize_h ? group.sum(n, [=](int64_t i) { return (1 - alpha[i]) * dc(i) * (ra * h[i]); })
                  : 0.0f;
  group.each(n, [=](int64_t i) {
    const float g = dc(i), a = ra * h[i], b = rb * y[i];
    dalpha[i] += g * (b - a);
    dh[i] = ra * ((1 - alpha[i]) * g - a * along_a);
    dy[i] = rb * (alpha[i] * g - b * along_b);
  });
}

template <class Group>
NORMBENCH_HD float scaled_lerp_row(Group group, int64_t n, const float* h, const float* y,
                                   const float* keep, const float* add, bool normalize_branch,
                                   float* out) {
  const float rb =
      normalize_branch ? inverse_root(group.sum(n, [=](int64_t i) { return y[i] * y[i]; })) : 1.0f;
  group.each(n, [=](int64_t i) { out[i] = keep[i] * h[i] + add[i] * (rb * y[i]); });
  return rb;
}

/// Adds this row's share to dkeep and dadd.
template <class Group>
NORMBENCH_HD void scaled_lerp_row_backward(Group group, int64_t n, const float* h, const float* y,
                                           const float* keep, const float* add,
                                           bool normalize_branch, float rb, const float* dout,
                                           float* dh, float* dy, float* dkeep, float* dadd) {
  const float along = normalize_branch
                          ? group.sum(n, [=](int64_t i) { return add[i] * dout[i] * (rb * y[i]); })
                          : 0.0f;
  group.each(n, [=](int64_t i) {
    const float b = rb * y[i];
    dkeep[i] += dout[i] * h[i];
    dadd[i] += dout[i] * b;
    dh[i] = keep[i] * dout[i];
    dy[i] = rb * (add[i] * dout[i] - b * along);
  });
}

}  // namespace normbench::ops
