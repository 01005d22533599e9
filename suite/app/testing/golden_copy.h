// Golden files that a test may damage, and what parity says of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "suite/app/parity.h"
#include "suite/base/json.h"
#include "suite/base/safetensors.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench::testing::golden_copy {

inline const std::string kFolder = std::string(NORMBENCH_SOURCE_DIR) + "/baselines/golden/";

inline std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// A golden file in memory, to be damaged and written elsewhere.
struct Copy {
  struct Tensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;

    template <class T>
    T* values() {
      return reinterpret_cast<T*>(bytes.data());
    }
    size_t size() const { return bytes.size() / 8; }
  };
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  explicit Copy(const std::string& path) {
    const SafetensorsFile file(path);
    metadata = file.metadata();
    for (const auto& [name, t] : file.tensors())
      tensors[name] = {t.dtype, t.shape, std::string(t.bytes)};
  }
  void set_config(const std::string& pointer, const Json& value) {
    auto config = parse_json(metadata.at("config"), "config");
    config[Json::json_pointer(pointer)] = value;
    metadata["config"] = config.dump();
  }
  /// Adds a millionth of the tensor's largest magnitude to one entry; another token, when it holds
  /// integers.
  void damage(const std::string& name) {
    auto& t = tensors.at(name);
    if (t.dtype == "I64") {
      auto* v = t.values<int64_t>();
      v[0] = (v[0] + 1) % std::max<int64_t>(*std::max_element(v, v + t.size()) + 1, 2);
      return;
    }
    // It acts through the choice of experts alone, which a small change leaves as it is.
    if (name.ends_with("router.bias")) {
      t.values<double>()[0] += 10;
      return;
    }
    double largest = 0;
    for (size_t i = 0; i < t.size(); ++i)
      largest = std::fmax(largest, std::abs(t.values<double>()[i]));
    if (largest < 1e-12) largest = 1;  // rounding noise of a zero: it is compared absolutely
    // The row of a token that the batch does not hold has no effect, nor has a tap that reaches
    // before a short text, and a comparison rightly sees none.
    int64_t entry = 0;
    if (name == "param.embed.weight")
      entry = tensors.at("input.tokens").values<int64_t>()[0] * t.shape[1];
    if (name.ends_with("conv.weight")) entry = t.shape.back() - 1;
    t.values<double>()[entry] += 1e-6 * largest;
  }
  std::string write() const {
    std::map<std::string, TensorEntry> entries;
    for (const auto& [name, t] : tensors)
      entries[name] = {.dtype = t.dtype, .shape = t.shape, .bytes = t.bytes};
    // Each process has its own: CTest runs these tests side by side.
    static const normbench::testing::TemporaryFolder folder;
    const std::string path = folder.path("damaged.safetensors");
    std::ofstream(path, std::ios::binary)
        << safetensors_bytes(metadata, entries);  // no fsync: a thousand files
    return path;
  }
};

inline ParityReport damaged(const std::string& file, const std::function<void(Copy&)>& damage) {
  Copy copy(kFolder + file + ".safetensors");
  damage(copy);
  return check_parity(copy.write());
}

inline double error_of(const ParityReport& report, const std::string& name) {
  for (const auto& row : report.rows)
    if (row.name == name) return row.error;
  return -1;
}

}  // namespace normbench::testing::golden_copy
