// Small types that a kernel's caller and its row formula share, and the mark of a formula that runs
// on host and device.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define NORMBENCH_HD __host__ __device__
#else
#define NORMBENCH_HD
#endif

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
