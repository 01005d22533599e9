#include "suite/base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>
#include <fstream>
#include <functional>

#include "suite/base/errors.h"

namespace normbench {
namespace {

std::string to_hex(const unsigned char* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string hex128(XXH128_hash_t hash) {
  XXH128_canonical_t big_endian;
  XXH128_canonicalFromHash(&big_endian, hash);
  return to_hex(big_endian.digest, sizeof big_endian.digest);
}

void read_pieces(const std::string& path, const std::function<void(std::string_view)>& f) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError({.what = "a file cannot be read", .where = path});
  std::string buffer(1 << 20, '\0');
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    f({buffer.data(), static_cast<size_t>(file.gcount())});
  }
}

}  // namespace

std::string xxh3_hex(std::string_view bytes) {
  return hex128(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t xxh3_64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct StreamHash::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
StreamHash::~StreamHash() = default;
void StreamHash::update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}
std::string StreamHash::hex() const { return hex128(XXH3_128bits_digest(state_->xxh)); }

std::string sha256_file(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  NORMBENCH_CHECK(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1,
                  "EVP_DigestInit_ex");
  read_pieces(path, [&](std::string_view piece) {
    EVP_DigestUpdate(context.get(), piece.data(), piece.size());
  });
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  NORMBENCH_CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1,
                  "EVP_DigestFinal_ex");
  return to_hex(digest.data(), size);
}

std::string xxh3_file(const std::string& path) {
  StreamHash hash;
  read_pieces(path, [&](std::string_view piece) { hash.update(piece); });
  return hash.hex();
}

}  // namespace normbench
