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

/// Environment that LibTorch's libraries read when they start, and allocator settings of glibc.
/// Sets what is missing and starts the program again when something was: call it first in main.
/// Returns when all is in place.
/// ATEN_CPU_CAPABILITY, MKL_ENABLE_INSTRUCTIONS and ONEDNN_MAX_CPU_ISA: one instruction set, so
/// that machines agree. CUBLAS_WORKSPACE_CONFIG: deterministic cuBLAS. OMP_NUM_THREADS: one thread,
/// unless the configuration says otherwise.
void restart_with_fixed_environment(int argc, char** argv);

/// Deterministic algorithms, no TF32, no cuDNN search, threads as given; denormals are flushed
/// (they cost ten times the time and no loss depends on them). ATen's habit of filling every new
/// tensor with NaN under deterministic algorithms is off: it costs 2 to 5 % of a step, and a test
/// that turns it on (uninitialized_memory_test.cpp) shows that nothing reads such memory.
void fix_arithmetic(int64_t threads);

}  // namespace normbench
