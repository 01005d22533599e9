#include "suite/base/fixed_environment.h"

#include <cstdlib>
#include <utility>

namespace normbench {

bool complete_environment() {
  static constexpr std::pair<const char*, const char*> kFixed[] = {
      {"ATEN_CPU_CAPABILITY", "avx2"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"},
      {"ONEDNN_MAX_CPU_ISA", "AVX2"},  {"CUBLAS_WORKSPACE_CONFIG", ":4096:8"},
      {"OMP_NUM_THREADS", "1"},        {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
  bool missing = false;
  for (const auto& [name, value] : kFixed) {
    if (std::getenv(name) != nullptr) continue;
    ::setenv(name, value, 0);
    missing = true;
  }
  return missing;
}

}  // namespace normbench
