#include "suite/base/checkpoint_name.h"

#include <fmt/format.h>

#include <charconv>

namespace normbench {
namespace {

constexpr std::string_view kSuffix = ".safetensors";

}  // namespace

std::string checkpoint_name(int64_t step) {
  return fmt::format("{}{:012}{}", kCheckpointPrefix, step, kSuffix);
}

std::optional<int64_t> checkpoint_step(std::string_view file_name) {
  if (!file_name.starts_with(kCheckpointPrefix) || !file_name.ends_with(kSuffix))
    return std::nullopt;
  file_name.remove_prefix(kCheckpointPrefix.size());
  file_name.remove_suffix(kSuffix.size());
  const char* end = file_name.data() + file_name.size();
  int64_t step = 0;
  const auto [stopped, fault] = std::from_chars(file_name.data(), end, step);
  if (fault != std::errc() || stopped != end) return std::nullopt;
  return step;
}

}  // namespace normbench
