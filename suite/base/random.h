// Counter-based random numbers: a value is a pure function of (key, counter), so nothing depends on
// what was drawn before, on the device or on the number of threads. Philox4x32-10, Salmon et al.,
// SC11, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace normbench {

/// Philox4x32 with 10 rounds: four 32-bit words from a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of numbers named by (seed, purpose): equal names give equal numbers, at any index and
/// in any order.
class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view purpose);
  /// 64 uniform bits at `index`.
  uint64_t bits(uint64_t index) const;
  /// Uniform in (0, 1], 53 bits.
  double uniform(uint64_t index) const;
  /// Standard normal (Box-Muller on the words at index / 2; even index: cosine, odd: sine).
  double normal(uint64_t index) const;

 private:
  std::array<uint32_t, 4> block(uint64_t index) const;
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 2> name_;
};

/// A permutation of {0, ..., size-1} as a pure function of (stream, index): a four-round Feistel
/// network over the next even power of two with cycle walking. No table, so an epoch of any size
/// costs nothing.
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, std::string_view purpose);
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t size_;
  unsigned half_bits_;
  RandomStream stream_;
};

}  // namespace normbench
