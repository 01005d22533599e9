#include "suite/app/worker_canary.h"

#include "suite/app/exit_codes.h"
#include "suite/app/worker_measure.h"
#include "suite/base/hash.h"
#include "suite/train/canary.h"
#include "suite/train/device.h"
#include "suite/train/fingerprint.h"

namespace normbench {

int worker_canary(const WorkerCanary& request) {
  const std::string build_id = xxh3_file("/proc/self/exe");
  for (const auto& text : request.canaries) {
    const Json canary = parse_json(text, "--canary");
    const JsonObject o(canary, "--canary");
    const auto threads = o.required<int64_t>("threads");
    const auto device = o.required<std::string>("device");
    torch_device(device);  // throws when there is none
    const auto gpu = wait_for_gpu(device, request.cache_folder);
    fix_arithmetic(threads);
    cached_canary(canary, o.has("task") ? measurement_canary : run_canary,
                  request.cache_folder + "/canary", build_id,
                  fingerprint(device, threads).numeric_class);
  }
  return kExitOk;
}

}  // namespace normbench
