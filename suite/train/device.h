// Devices, threads and the switches that make equal configurations give equal bits.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace normbench {

/// "cpu" or "cuda". Throws MachineError when there is no such device.
torch::Device torch_device(const std::string& device);
bool device_present(const std::string& device);
/// What this build has code for: "cpu", or "cpu" and "cuda".
std::vector<std::string> built_devices();
/// "" on a CPU.
std::string gpu_name(const std::string& device);

/// Compute type of a precision: fp32 -> kFloat, bf16-mixed -> kBFloat16 (over fp32 masters).
torch::ScalarType compute_type(const std::string& precision);

/// Allocator settings of glibc, and the environment that LibTorch's libraries read when they are
/// loaded (suite/base/fixed_environment.h). Starts the program again when something was missing,
/// which costs as much as loading them does; `normbench` sets it before. Call it first in main.
/// Returns when all is in place.
void restart_with_fixed_environment(int argc, char** argv);

/// Deterministic algorithms, no TF32, no cuDNN search, threads as given; denormals are flushed
/// (they cost ten times the time and no loss depends on them). ATen's habit of filling every new
/// tensor with NaN under deterministic algorithms is off: it costs 2 to 5 % of a step, and a test
/// that turns it on (uninitialized_memory_test.cpp) shows that nothing reads such memory.
void fix_arithmetic(int64_t threads);

}  // namespace normbench
