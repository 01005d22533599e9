// Which machine and which libraries made the numbers, in two keys: numeric_class (what may change
// losses) and perf_class (what may change speed).
#pragma once

#include <string>

#include "suite/base/json.h"

namespace normbench {

struct Fingerprint {
  /// "cpu-<8 digits>": hash of what the *library* computes on fixed inputs (products, softmax,
  /// attention, exp, sums at the shapes we train), of the compiler of our kernels and of the number
  /// of threads. Machines whose bits agree share a class; code of this project is not in it, so a
  /// change of ours can never hide behind a new class.
  std::string numeric_class;
  /// CPU model, cores, memory; GPU model, driver, memory on a GPU.
  std::string perf_class;
  Json details;  // the readable parts of both
};

/// device: "cpu" or "cuda".
Fingerprint fingerprint(const std::string& device, int64_t threads);

}  // namespace normbench
