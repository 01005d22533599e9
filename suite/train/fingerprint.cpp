#include "suite/train/fingerprint.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "suite/base/hash.h"
#include "suite/base/random.h"
#include "suite/train/device.h"

namespace normbench {
namespace {

std::string cpu_field(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

torch::Tensor fixed_input(std::vector<int64_t> shape, const std::string& name) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat);
  const RandomStream stream(0, name);
  auto* values = tensor.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i)
    values[i] = static_cast<float>(stream.normal(static_cast<uint64_t>(i)));
  return tensor;
}

/// The bits of library operations on fixed inputs, at the shapes that a step has: forward and
/// backward products, attention, softmax, exp, long sums.
std::string library_digest(const torch::Device& device) {
  torch::NoGradGuard no_grad;
  StreamHash hash;
  const auto add = [&hash](const torch::Tensor& result) {
    const torch::Tensor cpu = result.cpu().contiguous();
    hash.update({static_cast<const char*>(cpu.const_data_ptr()), cpu.nbytes()});
  };
  const auto x = fixed_input({512, 64}, "x").to(device), w = fixed_input({256, 64}, "w").to(device),
             big = fixed_input({1024, 64}, "big").to(device),
             y = fixed_input({512, 256}, "y").to(device);
  const auto q = fixed_input({2, 2, 128, 32}, "q").to(device);
  add(torch::matmul(x, w.t()));
  add(torch::matmul(x, big.t()));
  add(torch::matmul(y.t(), x));
  add(torch::matmul(y, w));
  add(torch::softmax(torch::matmul(x, big.t()), -1));
  add(torch::log_softmax(y, -1));
  add(at::scaled_dot_product_attention(q, q, q, {}, 0.0, /*is_causal=*/true));
  add(torch::exp(x));
  add(torch::silu(y));
  add(y.sum());
  add(x.pow(2).sum(0));
  return hash.hex().substr(0, 8);
}

}  // namespace

Fingerprint fingerprint(const std::string& device, int64_t threads) {
  utsname system{};
  ::uname(&system);
  struct sysinfo memory {};
  ::sysinfo(&memory);
  const std::string library = library_digest(torch_device(device));
  Json numeric = {{"libtorch", TORCH_VERSION},
                  {"compiler", std::string("gcc-compatible ") + __VERSION__},
                  {"threads", threads},
                  {"library_digest", library},
                  {"isa_pins",
                   {variable("ATEN_CPU_CAPABILITY"), variable("MKL_ENABLE_INSTRUCTIONS"),
                    variable("ONEDNN_MAX_CPU_ISA")}},
                  {"device", device}};
  Json perf = {{"cpu", cpu_field("model name")},
               {"cpu_vendor", cpu_field("vendor_id")},
               {"cores", std::thread::hardware_concurrency()},
               {"memory_gib", static_cast<int64_t>(memory.totalram * memory.mem_unit >> 30)},
               {"kernel", system.release},
               {"glibc_tunables", variable("GLIBC_TUNABLES")},
               {"gpu", gpu_name(device)}};
  return {.numeric_class = device + "-" + xxh3_hex(canonical(numeric)).substr(0, 8),
          .perf_class = device + "-" + xxh3_hex(canonical(perf)).substr(0, 8),
          .details = {{"numeric", numeric}, {"perf", perf}}};
}

}  // namespace normbench
