#include "suite/train/tensor_bytes.h"

#include <torch/torch.h>

#include <cstring>

#include "suite/base/errors.h"

namespace normbench {
namespace {

constexpr std::pair<torch::ScalarType, const char*> kTypes[] = {
    {torch::kDouble, "F64"}, {torch::kFloat, "F32"}, {torch::kBFloat16, "BF16"},
    {torch::kHalf, "F16"},   {torch::kLong, "I64"},  {torch::kInt, "I32"},
    {torch::kByte, "U8"},    {torch::kBool, "BOOL"}};

}  // namespace

std::string safetensors_dtype(torch::ScalarType type) {
  for (const auto& [ours, name] : kTypes)
    if (ours == type) return name;
  NORMBENCH_CHECK(false, std::string("no safetensors name for ") + torch::toString(type));
  return {};
}

TensorEntry tensor_entry(const torch::Tensor& tensor) {
  NORMBENCH_CHECK(tensor.is_contiguous() && tensor.device().is_cpu(),
                  "a tensor that is not plain CPU memory");
  return {.dtype = safetensors_dtype(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

torch::Tensor tensor_of(const TensorEntry& entry) {
  for (const auto& [type, name] : kTypes) {
    if (entry.dtype != name) continue;
    torch::Tensor tensor = torch::empty(entry.shape, type);
    std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
    return tensor;
  }
  throw UserError({.what = "a tensor type that this program does not hold", .found = entry.dtype});
}

}  // namespace normbench
