// Invented records with a known truth, for the tests of judge and for a look at the report without
// training anything.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "suite/base/testing/temporary_folder.h"
#include "suite/judge/input.h"

namespace normbench::testing {

struct SyntheticOptions {
  std::vector<int64_t> budgets = {1048576, 2097152, 4194304, 8388608};
  std::vector<int64_t> seeds = {1, 2, 3, 4, 5};
  std::vector<double> grid = {.008, .0113, .016, .0226, .032};
  double best_lr = .0147;  // true optimum of every arm
  double seed_sd = .008;   // nats
  std::map<std::string, double> token_ratio = {{"gpt_plus", 1.0},
                                               {"angpt", 1.35}};  // of each arm against gpt_plus
  std::map<std::string, double> step_seconds = {{"gpt_plus", .100}, {"angpt", .109}};
  std::vector<std::string> datasets = {"gcide_1k"};
  std::string numeric_class = "x86-64-v3 libtorch-2.11.0";
  int64_t tokens_per_step = 65536;
  /// The true loss of a run, from the one below; infinite: it diverges. Set it after
  /// synthetic_input(), whose tuned rates come from the loss below.
  std::function<double(const RunRef&, double loss)> truth = {};
};

/// Arms gpt_plus and angpt (and whatever token_ratio names), claims `speed_up` (published 1.40) and
/// `parity` (margin .02), tuned rates as the synthetic sweep will find them.
JudgeInput synthetic_input(const SyntheticOptions& options);
/// True loss of a run: 1.7 + 690 (ratio * tokens)^-.42, plus 0.09 log2(lr / best)^2 and seed noise;
/// the same for every call.
double synthetic_loss(const SyntheticOptions& options, const RunRef& run);

struct RecordEdit {
  std::function<void(Json& manifest)> manifest = {};
  std::function<void(Json& summary)> summary = {};                  // before sealing
  std::function<void(std::vector<std::string>& lines)> lines = {};  // before sealing
  bool diverged = false;
};
/// Writes one sealed record below `runs_folder`.
void write_record(const std::string& runs_folder, const RunRef& run,
                  const SyntheticOptions& options, const RecordEdit& edit = {});
/// Writes every planned run and trial.
void write_all(const std::string& runs_folder, const JudgeInput& input,
               const SyntheticOptions& options);
/// The configuration behind a planned run; its hash is the run id.
Json synthetic_config(const RunRef& run);
/// The run with its id and name.
RunRef planned(RunRef run, const std::string& name = "run.angpt.convergence.cpu");

/// A measurement's run, and its record: `rows` without their number, named `values`.
RunRef measurement_run(const std::string& name, int64_t seed);
void write_measurement(const std::string& runs_folder, const RunRef& run,
                       const std::vector<Json>& rows, const Json& values,
                       const RecordEdit& edit = {});

}  // namespace normbench::testing
