// exp and log from +, *, / and one fused multiply-add, so that their last digit depends on neither
// libm nor the vector width. Host and device; no torch.
#pragma once

#include <bit>

#include "suite/ops/kernel_types.h"

namespace normbench::ops {

#ifdef __CUDA_ARCH__
NORMBENCH_HD inline float float_from_bits(int32_t bits) { return __int_as_float(bits); }
NORMBENCH_HD inline int32_t bits_of_float(float x) { return __float_as_int(x); }
NORMBENCH_HD inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
#else
inline float float_from_bits(int32_t bits) { return std::bit_cast<float>(bits); }
inline int32_t bits_of_float(float x) { return std::bit_cast<int32_t>(x); }
inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif

/// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. Taylor to r^7: the remainder,
/// r^8 / 40320, is below 6e-9, a tenth of the rounding unit of fp32. Below -87 (and above 88) the
/// value at the limit: 1e-38 (and 2e38). NaN stays NaN.
NORMBENCH_HD inline float exp_formula(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits.
  constexpr float kRound = 12582912.0f;
  const float shifted = multiply_add(x, 1.44269504f, kRound);
  const float n = shifted - kRound;
  // ln 2 in two parts; the first has 9 low bits zero, so that n times it is exact.
  const float r = multiply_add(n, -1.42860677e-6f, multiply_add(n, -0.693145752f, x));
  float p = multiply_add(r, 1.0f / 5040, 1.0f / 720);
  p = multiply_add(p, r, 1.0f / 120);
  p = multiply_add(p, r, 1.0f / 24);
  p = multiply_add(p, r, 1.0f / 6);
  p = multiply_add(p, r, 0.5f);
  p = multiply_add(p, r, 1.0f);
  p = multiply_add(p, r, 1.0f);
  const int32_t exponent = bits_of_float(shifted) - bits_of_float(kRound);
  return p * float_from_bits((exponent + 127) << 23);
}

/// log(x) of a normal positive fp32 number, in double: x = 2^k m, m in [sqrt(1/2), sqrt(2)),
/// log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716; the series to s^21 leaves 1e-19.
NORMBENCH_HD inline double log_formula(float x) {
  const int32_t bits = bits_of_float(x);
  int32_t k = ((bits >> 23) & 0xff) - 127;
  double m = float_from_bits((bits & 0x7fffff) | (127 << 23));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 0;
  for (int j = 21; j >= 1; j -= 2) series = series * s2 + 1.0 / j;
  return k * 0.69314718055994530942 + 2 * s * series;
}

}  // namespace normbench::ops
