// normbench-worker: everything that needs LibTorch. People call `normbench`, which hands over to
// this.
#include <c10/util/Exception.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "suite/app/command_line.h"
#include "suite/app/exit_codes.h"
#include "suite/app/parity.h"
#include "suite/app/worker_arms.h"
#include "suite/app/worker_canary.h"
#include "suite/app/worker_registry.h"
#include "suite/app/worker_run.h"
#include "suite/app/worker_throughput.h"
#include "suite/base/interrupt.h"
#include "suite/train/device.h"

namespace normbench {
namespace {

/// Of a GPU's memory LibTorch throws a class of its own; of the machine's, and of what the
/// libraries of a GPU allocate themselves, there are only words.
bool is_out_of_memory(const c10::Error& error, const std::string& text) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  for (const char* words : {"can't allocate memory", "out of memory", "ALLOC_FAILED"})
    if (text.find(words) != std::string::npos) return true;
  return false;
}

int run(int argc, char** argv) {
  restart_with_fixed_environment(argc, argv);
  install_interrupt_handler();
  CLI::App app("Trains, checks golden files and measures. Called by normbench.",
               "normbench-worker");
  app.require_subcommand(1);
  int code = kExitOk;

  WorkerRun run;
  auto* run_command =
      app.add_subcommand("run", "train one resolved configuration and write its record");
  run_command->add_option("--config", run.config, "the configuration, as JSON")->required();
  run_command->add_option("--canary", run.canary, "the canary's configuration, as JSON")
      ->required();
  run_command->add_option("--name", run.name, "name of the run, for the record")->required();
  run_command->add_option("--runs", run.runs_folder, "folder of the records")->required();
  run_command->add_option("--cache", run.cache_folder, "folder of data sets and canaries")
      ->required();
  run_command
      ->add_option("--checkpoint-seconds", run.checkpoint_seconds,
                   "a checkpoint at least this often; 0: every step")
      ->check(number_within(at_least(0)))
      ->capture_default_str();
  run_command->add_flag("--keep-checkpoints", run.keep_checkpoints,
                        "keep the last two when the run is finished");
  run_command->callback([&] { code = worker_run(run); });

  WorkerCanary canary;
  auto* canary_command = app.add_subcommand(
      "canary", "run and remember the canaries that this build has not run on this machine");
  canary_command->add_option("--canary", canary.canaries, "a canary's configuration, as JSON")
      ->required();
  canary_command->add_option("--cache", canary.cache_folder, "folder of data sets and canaries")
      ->required();
  canary_command->callback([&] { code = worker_canary(canary); });

  std::vector<std::string> files;
  auto* parity = app.add_subcommand(
      "parity", "compare models, operators, optimisers and schedules with golden files");
  parity->add_option("files", files, "golden files (.safetensors)")->required();
  parity->callback([&] { code = run_parity(files); });

  std::string arms_file;
  auto* arms = app.add_subcommand(
      "arms", "build every model and optimizer of a file's arms, without training");
  arms->add_option("file", arms_file, "their configurations, as JSON")->required();
  arms->callback([&] { code = worker_arms(arms_file); });

  std::string registry_file;
  auto* registry = app.add_subcommand(
      "registry", "write every model, optimizer and schedule with its default options");
  registry->add_option("file", registry_file, "where to write")->required();
  registry->callback([&] { write_registry(registry_file); });

  WorkerThroughput throughput;
  auto* speed = app.add_subcommand("throughput", "tokens per second of training steps, as JSON");
  speed->add_option("--config", throughput.config, "the configuration, as JSON")->required();
  speed->add_option("--steps", throughput.steps, "timed steps")
      ->check(kTimedSteps)
      ->capture_default_str();
  speed->callback([&] { code = worker_throughput(throughput); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? static_cast<int>(kExitOk) : static_cast<int>(kExitWrongUse);
  }
  return code;
}

}  // namespace
}  // namespace normbench

int main(int argc, char** argv) {
  using namespace normbench;
  return exit_code_of([&] {
    try {
      return run(argc, argv);
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      if (!is_out_of_memory(error, text)) throw;
      throw MachineError({.what = "out of memory",
                          .found = text.substr(0, text.find('\n')),
                          .todo =
                              "end other programs, lower micro_batch_sequences in the table, or "
                              "use a machine with more memory"});
    }
  });
}
