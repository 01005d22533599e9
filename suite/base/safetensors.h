// The safetensors format, torch-free: an 8-byte little-endian header length, a JSON header, then
// the raw tensors. Golden files and checkpoints use it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace normbench {

struct TensorEntry {
  std::string dtype;  // "F64", "F32", "BF16", "F16", "I64", "I32", "U8", "BOOL", ...
  std::vector<int64_t> shape;
  std::string_view bytes;  // row-major; points into the file's buffer

  int64_t num_elements() const;
};

/// Bytes of one element of a safetensors type; throws UserError on an unknown type.
size_t dtype_bytes(const std::string& dtype);

class SafetensorsFile {
 public:
  /// Reads and checks the whole file: header length, offsets inside the file without holes or
  /// overlap, sizes equal to shape times type. Throws UserError naming the tensor.
  explicit SafetensorsFile(const std::string& path);
  SafetensorsFile(const SafetensorsFile&) = delete;  // entries point into its own buffer
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string bytes_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, TensorEntry> tensors_;
};

/// The file's bytes. Tensors are laid out in the order of their names.
std::string safetensors_bytes(const std::map<std::string, std::string>& metadata,
                              const std::map<std::string, TensorEntry>& tensors);

}  // namespace normbench
