// Which bytes are hashed is written on each format's page (docs/formats.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace normbench {

/// XXH3, 128 bits, as 32 lower-case hexadecimal digits. For identity, not for security.
std::string xxh3_hex(std::string_view bytes);
/// XXH3, 64 bits.
uint64_t xxh3_64(std::string_view bytes);

/// The same over a stream of pieces.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  void update(std::string_view bytes);
  template <class T>
  void update_values(std::span<const T> values) {
    update({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of a file, hexadecimal. Throws UserError when it cannot be read.
std::string sha256_file(const std::string& path);
/// XXH3 of a file, read in pieces.
std::string xxh3_file(const std::string& path);

}  // namespace normbench
