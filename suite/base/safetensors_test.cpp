#include "suite/base/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/random.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench {
namespace {

class Safetensors : public ::testing::Test {
 protected:
  SafetensorsFile reread(const std::string& bytes) {
    write_file_atomically(path_, bytes);
    return SafetensorsFile(path_);
  }
  static std::string example() {
    static const double a[] = {1, 2, 3, 4, 5, 6};
    static const int64_t b[] = {7};
    return safetensors_bytes({{"format", "x"}},
                             {{"a", {"F64", {2, 3}, {reinterpret_cast<const char*>(a), sizeof a}}},
                              {"b", {"I64", {}, {reinterpret_cast<const char*>(b), sizeof b}}},
                              {"empty", {"F32", {0, 4}, {}}}});
  }
  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_.path("file.safetensors");
};

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
  const auto file = reread(example());
  EXPECT_EQ(file.metadata().at("format"), "x");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors().at("a").shape, (std::vector<int64_t>{2, 3}));
  double last = 0;
  std::memcpy(&last, file.tensors().at("a").bytes.data() + 40, 8);
  EXPECT_EQ(last, 6);
}

TEST_F(Safetensors, AShapeWhoseSizesDoNotFitInto64BitsIsAnError) {
  // Wrapped around, each of them is a tensor of no bytes.
  for (const char* shape :
       {"[4294967296,4294967296]", "[2305843009213693952]", "[4294967296,4294967296,4294967296]"}) {
    const std::string header =
        R"({"a":{"dtype":"F64","shape":)" + std::string(shape) + R"(,"data_offsets":[0,0]}})";
    const uint64_t size = header.size();
    EXPECT_THROW(reread(std::string(reinterpret_cast<const char*>(&size), sizeof size) + header),
                 UserError)
        << shape;
  }
}

TEST_F(Safetensors, EveryCutIsAnError) {
  const std::string bytes = example();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(reread(bytes.substr(0, size)), UserError) << size;
  EXPECT_THROW(reread(bytes + "x"), UserError);
}

// Fuzz: whatever the bytes, the reader says UserError or returns tensors that lie inside the file.
TEST_F(Safetensors, RandomDamageNeverCrashes) {
  const std::string bytes = example();
  const RandomStream random(0, "safetensors fuzz");
  int refused = 0;
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    std::string damaged = bytes;
    for (uint64_t k = 0; k < 1 + trial % 3; ++k)
      damaged[random.bits(16 * trial + k) % damaged.size()] =
          static_cast<char>(random.bits(16 * trial + 8 + k));
    try {
      const SafetensorsFile file = reread(damaged);
      for (const auto& [name, tensor] : file.tensors())
        EXPECT_EQ(tensor.bytes.size(),
                  static_cast<size_t>(tensor.num_elements()) * dtype_bytes(tensor.dtype))
            << name;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace normbench
