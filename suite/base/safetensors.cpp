#include "suite/base/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/json.h"

namespace normbench {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

namespace {

/// Nothing when it does not fit: a wrapped product would look like a tensor of few bytes.
std::optional<int64_t> product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n)) return std::nullopt;
  return n;
}

/// Do the bytes hold exactly what type and shape say?
bool is_filled(const TensorEntry& tensor) {
  const auto elements = product(tensor.shape);
  const size_t width = dtype_bytes(tensor.dtype), size = tensor.bytes.size();
  return elements && size % width == 0 && size / width == static_cast<size_t>(*elements);
}

}  // namespace

int64_t TensorEntry::num_elements() const {
  const auto elements = product(shape);
  NORMBENCH_CHECK(elements, Json(shape).dump());
  return *elements;
}

size_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, size_t> kBytes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2},
      {"I16", 2}, {"U16", 2}, {"BF16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  const auto found = kBytes.find(dtype);
  if (found == kBytes.end()) throw UserError({.what = "an unknown tensor type", .found = dtype});
  return found->second;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), bytes_(read_file(path)) {
  const auto bad = [&](const std::string& what, const std::string& found = {}) {
    return UserError(
        {.what = "not a valid safetensors file: " + what, .where = path, .found = found});
  };
  uint64_t header_size = 0;
  if (bytes_.size() < sizeof header_size) throw bad("shorter than its header length");
  std::memcpy(&header_size, bytes_.data(), sizeof header_size);
  if (header_size > bytes_.size() - sizeof header_size)
    throw bad("cut inside its header", std::to_string(header_size));
  const Json header = parse_json(bytes_.substr(sizeof header_size, header_size), path);
  const std::string_view data = std::string_view(bytes_).substr(sizeof header_size + header_size);

  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  const JsonObject object(header, path);
  for (const auto& name : object.keys()) {
    const JsonObject entry = object.object(name);
    if (name == "__metadata__") {
      for (const auto& key : entry.keys()) metadata_[key] = entry.required<std::string>(key);
      continue;
    }
    TensorEntry tensor{.dtype = entry.required<std::string>("dtype"),
                       .shape = entry.required<std::vector<int64_t>>("shape"),
                       .bytes = {}};
    const auto offsets = entry.required<std::vector<int64_t>>("data_offsets");
    entry.finish();
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] ||
        static_cast<uint64_t>(offsets[1]) > data.size())
      throw bad("tensor \"" + name + "\" lies outside the file", canonical(entry.value()));
    if (std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t n) { return n < 0; }))
      throw bad("tensor \"" + name + "\" has a negative size");
    tensor.bytes =
        data.substr(static_cast<size_t>(offsets[0]), static_cast<size_t>(offsets[1] - offsets[0]));
    if (!is_filled(tensor))
      throw bad("tensor \"" + name + "\": shape and bytes differ", canonical(entry.value()));
    if (!tensor.bytes.empty()) ranges.emplace_back(offsets[0], offsets[1]);
    tensors_.emplace(name, tensor);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (const auto& [begin, stop] : ranges) {
    if (begin != end) throw bad("tensors overlap or leave a hole", "byte " + std::to_string(begin));
    end = stop;
  }
  if (end != data.size())
    throw bad("bytes after the last tensor", std::to_string(data.size() - end));
}

std::string safetensors_bytes(const std::map<std::string, std::string>& metadata,
                              const std::map<std::string, TensorEntry>& tensors) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    NORMBENCH_CHECK(is_filled(tensor), name);
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // tensors start aligned
  const uint64_t header_size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&header_size), sizeof header_size);
  bytes.reserve(bytes.size() + text.size() + offset);
  bytes += text;
  for (const auto& [name, tensor] : tensors) bytes += tensor.bytes;
  return bytes;
}

}  // namespace normbench
