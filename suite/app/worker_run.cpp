#include "suite/app/worker_run.h"

#include <filesystem>
#include <iostream>
#include <optional>

#include "data/batches.h"
#include "suite/app/required.h"
#include "suite/app/worker_measure.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/log.h"
#include "suite/base/record_digest.h"
#include "suite/train/canary.h"
#include "suite/train/device.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

/// Said of a record that another class of machine made: its last digits are not this one's.
std::string elsewhere(const std::string& folder, const RunOptions& options) {
  const std::string made_by = read_json(folder + "/manifest.json").value("numeric_class", "");
  return made_by == options.canary.numeric_class ? "" : " on a machine of class " + made_by;
}

int train(const WorkerRun& request, const Json& config) {
  const Json canary = parse_json(request.canary, "--canary");
  const RunConfig c = read_run_config(config, "--config");
  if (is_skipped(c.device, request.name)) return kExitSkipped;
  const auto gpu = wait_for_gpu(c.device, request.cache_folder);
  const auto source = open_dataset(c.dataset, request.cache_folder);
  fix_arithmetic(c.threads);
  RunOptions options;
  options.fingerprint = fingerprint(c.device, c.threads);
  options.runs_folder = request.runs_folder;
  options.name = request.name;
  options.checkpoint_seconds = request.checkpoint_seconds;
  options.keep_checkpoints = request.keep_checkpoints;
  options.canary = cached_canary(canary, run_canary, request.cache_folder + "/canary",
                                 xxh3_file("/proc/self/exe"), options.fingerprint.numeric_class);
  const auto communicator = single_communicator();
  const RunResult result = train_run(config, *source, *communicator, options);

  const std::string run_id = run_id_of(config);
  const Json summary = read_json(request.runs_folder + "/" + run_id + "/summary.json");
  std::cout << request.name << " (" << run_id << "): ";
  if (summary.at("status") == "diverged")
    std::cout << "diverged at step " << summary.at("diverged_at_step") << " of " << c.num_steps();
  else
    std::cout << "validation loss " << summary.at("validation_loss").get<double>()
              << " nats per token after " << summary.at("tokens") << " tokens";
  if (result == RunResult::kReused)
    std::cout << ", finished before" << elsewhere(request.runs_folder + "/" + run_id, options)
              << "\n";
  else
    std::cout << ", " << static_cast<int64_t>(summary.at("tokens_per_second").get<double>())
              << " tokens/s, " << duration_text(summary.at("seconds_train").get<double>()) << "\n";
  return kExitOk;
}

}  // namespace

bool is_skipped(const std::string& device, const std::string& name) {
  if (device_present(device)) return false;
  if (is_required("gpu"))
    throw MachineError({.what = "a GPU is required and there is no usable one",
                        .where = name,
                        .todo = "normbench doctor says what is missing"});
  std::cout << name << ": skipped, there is no usable GPU on this machine\n";
  return true;
}

std::optional<FileLock> wait_for_gpu(const std::string& device, const std::string& cache_folder) {
  if (device != "cuda") return std::nullopt;
  return std::optional<FileLock>(std::in_place, cache_folder + "/gpu.lock", /*wait=*/true,
                                 "the GPU");
}

int worker_run(const WorkerRun& request) {
  const Json config = parse_json(request.config, "--config");
  try {
    return config.contains("task") ? worker_measure(request) : train(request, config);
  } catch (const UserError& e) {  // of a model, a probe or a task, which know no run
    throw UserError({.what = request.name + " cannot be run: " + e.what()});
  }
}

}  // namespace normbench
