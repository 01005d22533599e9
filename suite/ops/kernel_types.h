// Small structs that a kernel's caller and its row formula share.
#pragma once

#include <cstdint>

namespace normbench::ops {

/// Inverse norms of a row of the normalised LERP: ra (1 when h is taken as it is), rb, rc.
struct LerpRoots {
  float a, b, c;
};

struct RopeShape {
  int64_t n;         // head width
  int64_t half;      // pairs
  bool interleaved;  // pairs (2i, 2i + 1) instead of (i, i + half)
  bool published;    // one term of each sum; interleaved
};

}  // namespace normbench::ops
