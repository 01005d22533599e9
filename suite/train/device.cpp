#include "suite/train/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>
#include <torch/torch.h>
#include <unistd.h>

#include "suite/base/errors.h"
#include "suite/base/fixed_environment.h"
#ifdef NORMBENCH_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#endif

namespace normbench {

bool device_present(const std::string& device) {
  return device == "cpu" || (device == "cuda" && torch::cuda::is_available());
}

torch::Device torch_device(const std::string& device) {
  if (!device_present(device))
    throw MachineError({.what = "there is no such device on this machine",
                        .found = device == "cuda" ? "no usable GPU" : device,
                        .expected = "cpu, or cuda with a driver",
                        .todo = "normbench doctor says what is missing"});
  return torch::Device(device == "cuda" ? torch::kCUDA : torch::kCPU);
}

std::vector<std::string> built_devices() {
#ifdef NORMBENCH_WITH_CUDA
  return {"cpu", "cuda"};
#else
  return {"cpu"};
#endif
}

std::string gpu_name(const std::string& device) {
#ifdef NORMBENCH_WITH_CUDA
  if (device == "cuda" && torch::cuda::is_available())
    return at::cuda::getCurrentDeviceProperties()->name;
#endif
  return "";
}

torch::ScalarType compute_type(const std::string& precision) {
  return precision == "bf16-mixed" ? torch::kBFloat16 : torch::kFloat;
}

void restart_with_fixed_environment(int argc, char** argv) {
  // A GEMM result of a vocabulary head is tens of MB; by default glibc maps and unmaps it at every
  // step.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 2000000000);
  if (!complete_environment()) return;
  std::vector<char*> arguments(argv, argv + argc);
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  throw MachineError(
      {.what = "the program could not start itself again", .where = "/proc/self/exe"});
}

void fix_arithmetic(int64_t threads) {
  at::set_num_threads(static_cast<int>(threads));
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicCuDNN(true);
  context.setAllowTF32CuDNN(false);
  context.setFloat32MatmulPrecision("highest");
  context.setFlushDenormal(true);
}

}  // namespace normbench
