#include "suite/base/canary_result.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace normbench {
namespace {

constexpr double kAgreementOfClasses = 1e-4;

}  // namespace

void write_canary(const CanaryResult& canary, Json& json) {
  json["numeric_class"] = canary.numeric_class;
  json["numeric_digest"] = canary.digest;
  json["canary_numbers"] = canary.numbers;
}

CanaryResult read_canary(const Json& json) {
  return {json.value("numeric_class", ""), json.value("numeric_digest", ""),
          json.value("canary_numbers", std::vector<double>{})};
}

std::optional<CanaryResult> remembered_canary(const std::string& file,
                                              const std::string& build_id) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    const Json json = read_json(file);
    const JsonObject o(json, file);
    if (o.required<std::string>("build_id") != build_id) return std::nullopt;
    return CanaryResult{.numeric_class = o.required<std::string>("numeric_class"),
                        .digest = o.required<std::string>("numeric_digest"),
                        .numbers = o.required<std::vector<double>>("canary_numbers")};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::string staleness(const Json& manifest, const CanaryResult& today) {
  const CanaryResult then = read_canary(manifest);
  if (then.numeric_class == today.numeric_class)
    return then.digest == today.digest
               ? ""
               : "its numeric digest is " + then.digest + ", this build's is " + today.digest +
                     ": the arm computes something else today";
  if (then.numbers.empty()) return "";
  if (then.numbers.size() != today.numbers.size())
    return "its canary has " + std::to_string(then.numbers.size()) + " numbers, this build's " +
           std::to_string(today.numbers.size()) + ": the arm computes something else today";
  double worst = 0;
  for (size_t i = 0; i < then.numbers.size(); ++i) {
    const double scale = std::max(std::abs(then.numbers[i]), std::abs(today.numbers[i]));
    if (scale > 0) worst = std::max(worst, std::abs(then.numbers[i] - today.numbers[i]) / scale);
  }
  if (worst <= kAgreementOfClasses) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", worst);
  return "it comes from numeric class " + then.numeric_class +
         ", and its canary differs from this "
         "build's by " +
         text + ": the arm computes something else today";
}

}  // namespace normbench
