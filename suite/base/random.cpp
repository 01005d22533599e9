#include "suite/base/random.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "suite/base/errors.h"
#include "suite/base/hash.h"

namespace normbench {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose) {
  const uint64_t name = xxh3_64(purpose);
  key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  name_ = {static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32)};
}

std::array<uint32_t, 4> RandomStream::block(uint64_t index) const {
  return philox4x32(
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), name_[0], name_[1]}, key_);
}

uint64_t RandomStream::bits(uint64_t index) const {
  const auto words = block(index);
  return uint64_t{words[0]} << 32 | words[1];
}

double RandomStream::uniform(uint64_t index) const {
  return (static_cast<double>(bits(index) >> 11) + 1.0) * 0x1.0p-53;
}

double RandomStream::normal(uint64_t index) const {
  const auto words = block(index / 2);
  const double u =
      (static_cast<double>((uint64_t{words[0]} << 32 | words[1]) >> 11) + 1.0) * 0x1.0p-53;
  const double v = static_cast<double>((uint64_t{words[2]} << 32 | words[3]) >> 11) * 0x1.0p-53;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

Permutation::Permutation(uint64_t size, uint64_t seed, std::string_view purpose)
    : size_(size), stream_(seed, purpose) {
  NORMBENCH_CHECK(size > 0, std::to_string(size));
  const unsigned bits = std::bit_width(size - 1);
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

uint64_t Permutation::operator()(uint64_t index) const {
  NORMBENCH_CHECK(index < size_, std::to_string(index) + " of " + std::to_string(size_));
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = index >> half_bits_, right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (stream_.bits(round << 60 | right) & mask);
      left = right;
      right = next;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);  // expected fewer than four rounds: the power of two is below 4 * size
  return index;
}

}  // namespace normbench
