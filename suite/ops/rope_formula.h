// Row formulas of the rotary embedding: one head of width n, whose first 2 * half entries turn in
// pairs (a, b): entries (i, i + half), or (2i, 2i + 1).
//   a' = a c - b s,  b' = a s + b c;    published: a' = -b s,  b' = a c
//   The gradient is the transposed map: s -> -s;    published: da = db' c,  db = -da' s
//   With norm:  z = rope(x), r = 1 / ||z||, y = gain r z
//     g = gain dy,  dz = r (g - r z sum(g r z)),  dgain = sum over rows of dy r z
#pragma once

#include "suite/ops/row_group.h"

namespace normbench::ops {

/// y = rope(x), or its transposed map. x and y may be the same row.
template <class Group>
NORMBENCH_HD void rope_row(Group group, RopeShape shape, bool transposed, const float* x,
                           const float* cosine, const float* sine, float* y) {
  const float sign = transposed ? -1.0f : 1.0f;
  if (shape.published) {
    group.each(shape.half, [=](int64_t i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = transposed ? b * cosine[i] : -b * sine[i];
      y[2 * i + 1] = transposed ? -a * sine[i] : a * cosine[i];
    });
  } else if (shape.interleaved) {
    group.each(shape.half, [=](int64_t i) {
      const float a = x[2 * i], b = x[2 * i + 1], s = sign * sine[i];
      y[2 * i] = a * cosine[i] - b * s;
      y[2 * i + 1] = a * s + b * cosine[i];
    });
  } else {
    const int64_t half = shape.half;
    group.each(half, [=](int64_t i) {
      const float a = x[i], b = x[i + half], s = sign * sine[i];
      y[i] = a * cosine[i] - b * s;
      y[i + half] = a * s + b * cosine[i];
    });
  }
  const int64_t turned = 2 * shape.half;
  group.each(shape.n - turned, [=](int64_t i) { y[turned + i] = x[turned + i]; });
}

/// y = gain rope(x) / ||rope(x)||; gain may be null. Returns r.
template <class Group>
NORMBENCH_HD float rope_l2_norm_row(Group group, RopeShape shape, const float* x,
                                    const float* cosine, const float* sine, const float* gain,
                                    float* y) {
  rope_row(group, shape, false, x, cosine, sine, y);
  const float r = inverse_root(group.sum(shape.n, [=](int64_t i) { return y[i] * y[i]; }));
  if (gain) {
    group.each(shape.n, [=](int64_t i) { y[i] = r * y[i] * gain[i]; });
  } else {
    group.each(shape.n, [=](int64_t i) { y[i] *= r; });
  }
  return r;
}

/// Adds this row's share to dgain. z: n floats of scratch.
template <class Group>
NORMBENCH_HD void rope_l2_norm_row_backward(Group group, RopeShape shape, const float* x,
                                            const float* cosine, const float* sine,
                                            const float* gain, float r, const float* dy, float* dx,
                                            float* dgain, float* z) {
  rope_row(group, shape, false, x, cosine, sine, z);
  if (gain) {
    const float along =
        r * r * group.sum(shape.n, [=](int64_t i) { return gain[i] * dy[i] * z[i]; });
    group.each(shape.n, [=](int64_t i) {
      dgain[i] += dy[i] * (r * z[i]);
      z[i] = r * (gain[i] * dy[i] - z[i] * along);
    });
  } else {
    const float along = r * r * group.sum(shape.n, [=](int64_t i) { return dy[i] * z[i]; });
    group.each(shape.n, [=](int64_t i) { z[i] = r * (dy[i] - z[i] * along); });
  }
  rope_row(group, shape, true, z, cosine, sine, dx);
}

}  // namespace normbench::ops
