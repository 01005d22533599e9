#include "suite/base/record_digest.h"

#include <bit>
#include <cstdio>

#include "suite/base/hash.h"

namespace normbench {

std::string run_id_of(const Json& config) { return xxh3_hex(canonical(config)).substr(0, 16); }

std::string record_digest(const Json& manifest, const std::vector<std::string>& step_lines,
                          const Json& summary) {
  StreamHash hash;
  hash.update(canonical(manifest));
  hash.update("\n");
  for (const auto& line : step_lines) {
    hash.update(line);
    hash.update("\n");
  }
  Json rest = summary;
  rest.erase("record_digest");
  hash.update(canonical(rest));
  return hash.hex();
}

Json sealed_summary(const Json& manifest, const std::vector<std::string>& step_lines,
                    Json summary) {
  summary["record_digest"] = record_digest(manifest, step_lines, summary);
  return summary;
}

std::string double_bits(double value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text;
}

}  // namespace normbench
