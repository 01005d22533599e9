// The CPU kernels: raw pointers, fp32, rows one after another. No torch; compiled for one fixed
// instruction set (suite/cmake/flags.cmake), so that rounding does not depend on the machine. Each
// call computes the rows [begin, end) of its arrays, and a row's result depends on that row only.
// Arrays named d<parameter> are [n] and collect the rows' shares in row order: the caller hands
// each block of rows its own, and adds the blocks in order (blocks.h).
#pragma once

#include <cstdint>

#include "suite/ops/kernel_types.h"

namespace normbench::ops::cpu {

struct RowRange {
  int64_t begin, end, n;  // rows, and entries in a row
};

void rms_norm(RowRange rows, const float* x, const float* gain, float eps, float* y, float* r);
void rms_norm_backward(RowRange rows, const float* x, const float* gain, const float* r,
                       const float* dy, float* dx, float* dgain);
void l2_norm(RowRange rows, const float* x, float* y, float* r);
void l2_norm_backward(RowRange rows, const float* x, const float* r, const float* dy, float* dx);

void lerp_normalize(RowRange rows, const float* h, const float* y, const float* alpha,
                    bool normalize_h, float* out, LerpRoots* roots);
void lerp_normalize_backward(RowRange rows, const float* h, const float* y, const float* alpha,
                             bool normalize_h, const LerpRoots* roots, const float* out,
                             const float* dout, float* dh, float* dy, float* dalpha);
void scaled_lerp(RowRange rows, const float* h, const float* y, const float* keep, const float* add,
                 bool normalize_branch, float* out, float* rb);
void scaled_lerp_backward(RowRange rows, const float* h, const float* y, const float* keep,
                          const float* add, bool normalize_branch, const float* rb,
                          const float* dout, float* dh, float* dy, float* dkeep, float* dadd);

void swiglu(RowRange rows, const float* gate, const float* up, float* y);
void swiglu_backward(RowRange rows, const float* gate, const float* up, const float* dy,
                     float* dgate, float* dup);

/// Rows are heads, [B, T, H] in order; cosine, sine: [T, half]; gain, dgain: [H, n] or null.
struct RopeArrays {
  RopeShape shape;
  int64_t tokens, heads;
  const float *cosine, *sine, *gain;
};
void rope(RowRange rows, const RopeArrays& arrays, bool transposed, const float* x, float* y);
void rope_l2_norm(RowRange rows, const RopeArrays& arrays, const float* x, float* y, float* r);
void rope_l2_norm_backward(RowRange rows, const RopeArrays& arrays, const float* x, const float* r,
                           const float* dy, float* dx, float* dgain, float* scratch);

/// Returns the sum of the rows' losses. u is overwritten by du when `gradient`; scratch: n floats.
double cross_entropy(RowRange rows, float* u, const float* scale, const int64_t* targets,
                     float weight, bool gradient, float* dscale, float* scratch);

/// Row norms, or, over `columns`, column norms of the matrix w [rows.end, n]; scratch: n floats.
void constrain(RowRange rows, float* w, bool bound, bool columns, float* scratch);

}  // namespace normbench::ops::cpu
