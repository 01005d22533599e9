#include "suite/train/trainer.h"

#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "optim/clip.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/log.h"
#include "suite/base/median.h"
#include "suite/base/record_digest.h"
#include "suite/train/checkpoint.h"
#include "suite/train/device.h"
#include "suite/train/evaluate.h"
#include "suite/train/probes.h"
#include "suite/train/run_folder.h"

namespace normbench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The shortest decimal that reads back to the same float, as a JSON number.
double short_float(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return std::strtod(text, nullptr);
}

/// The sum of every rank's gradients, divided by the number of ranks: each rank holds the mean of
/// its own sequences.
void average_gradients(const std::vector<ParameterGroup>& groups, Communicator& communicator) {
  if (communicator.size() == 1) return;
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& group : groups) flat.push_back(group.tensor.grad().reshape(-1));
  torch::Tensor all = torch::cat(flat);
  communicator.sum_(all);
  all /= communicator.size();
  int64_t offset = 0;
  for (const auto& group : groups) {
    group.tensor.grad().copy_(
        all.slice(0, offset, offset + group.tensor.numel()).view_as(group.tensor));
    offset += group.tensor.numel();
  }
}

Json make_manifest(const Json& config, const RunConfig& c, const RunOptions& options,
                   const Fingerprint& print, const TokenSource& source,
                   const ValidationSlice& slice, int64_t parameters) {
  Json manifest = manifest_of(config, options.name, print, options.canary);
  manifest["data"] = {{"train_digest", source.train_digest()},
                      {"validation_digest", source.validation_digest()},
                      {"validation_slice_digest", slice.digest()}};
  manifest["parameters"] = parameters;
  return manifest;
}

std::string weights_digest(const std::vector<ParameterGroup>& groups) {
  StreamHash hash;
  for (const auto& group : groups) {
    const torch::Tensor cpu = group.tensor.detach().cpu().contiguous();
    hash.update(group.name);
    hash.update({static_cast<const char*>(cpu.const_data_ptr()), cpu.nbytes()});
  }
  return hash.hex();
}

void check_data(const RunConfig& c, const TokenSource& source) {
  const auto differs = [&](const std::string& what, const std::string& found,
                           const std::string& expected) {
    throw UserError({.what = "the data set is not the one that the configuration names: " + what,
                     .where = c.dataset,
                     .found = found,
                     .expected = expected,
                     .todo = "normbench data verify " + c.dataset});
  };
  if (source.vocabulary() != c.size.vocabulary)
    differs("vocabulary", std::to_string(source.vocabulary()), std::to_string(c.size.vocabulary));
  if (source.train_digest() != c.train_digest)
    differs("training tokens", source.train_digest(), c.train_digest);
  if (source.validation_digest() != c.validation_digest)
    differs("validation tokens", source.validation_digest(), c.validation_digest);
}

/// Of all steps, those before a resume too. steps_digest: XXH3 over the float bits of every step's
/// loss, in order, so that equal ones are equal curves, to the last bit.
Json summary_of_lines(const std::vector<std::string>& lines) {
  std::vector<float> losses;
  std::vector<double> seconds;
  for (const auto& line : lines) {
    const Json step = Json::parse(line);
    const Json& loss = step.at("loss");
    losses.push_back(loss.is_null() ? std::numeric_limits<float>::quiet_NaN() : loss.get<float>());
    seconds.push_back(step.at("seconds").get<double>());
  }
  StreamHash hash;
  hash.update_values<float>(losses);
  return {{"steps_digest", hash.hex()}, {"step_seconds_median", median(std::move(seconds))}};
}

int64_t peak_memory_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

Training::Training(const RunConfig& c) : device(torch_device(c.device)) {
  const ModelEntry& model_entry = find_model(c.model);
  const OptimizerEntry& optimizer_entry = find_optimizer(c.optimizer);
  const ScheduleEntry& schedule_entry = find_schedule(c.schedule);
  model = model_entry.make(c.size, JsonObject(c.model_options, "configuration", "/model_options"));
  model->reset_parameters(static_cast<uint64_t>(c.seed));
  model->to(device);
  model->set_compute_type(compute_type(c.precision));
  groups = state = model->parameter_groups();
  for (const auto& buffer : model->named_buffers())
    state.push_back({.name = buffer.key(), .tensor = buffer.value()});
  optimizer = optimizer_entry.make(
      groups, JsonObject(c.optimizer_options, "configuration", "/optimizer_options"));
  learning_rate =
      schedule_entry.make(c.num_steps(), c.peak_lr,
                          JsonObject(c.schedule_options, "configuration", "/schedule_options"));
}

Training::~Training() = default;
Training::Training(Training&&) noexcept = default;

int64_t Training::num_parameters() const {
  int64_t n = 0;
  for (const auto& group : groups) n += group.tensor.numel();
  return n;
}

StepResult train_step(Training& training, const RunConfig& c, const Batches& batches,
                      Communicator& communicator, int64_t t) {
  for (const auto& group : training.groups) group.tensor.mutable_grad().reset();
  const int64_t own = c.batch_sequences / communicator.size(), first = communicator.rank() * own;
  double loss_sum = 0;
  for (int64_t done = 0; done < own; done += c.micro_batch_sequences) {
    const int64_t count = std::min(c.micro_batch_sequences, own - done);
    const auto [inputs, targets] =
        batch_tensors(batches.step(t - 1, first + done, count), training.device);
    const torch::Tensor loss = training.model->loss(inputs, targets);
    const double share = static_cast<double>(count) / static_cast<double>(own);
    (share == 1.0 ? loss : loss * share).backward();
    loss_sum += loss.item<double>() * share;
  }
  average_gradients(training.groups, communicator);
  if (communicator.size() > 1) {
    torch::Tensor mean =
        torch::tensor({loss_sum}, torch::TensorOptions(torch::kDouble).device(training.device));
    communicator.sum_(mean);
    loss_sum = mean.item<double>() / communicator.size();
  }
  StepResult result;
  result.loss = static_cast<float>(loss_sum);
  result.grad_norm = static_cast<float>(clip_gradients_(training.groups, c.clip_norm));
  result.diverged =
      !std::isfinite(result.loss) || !std::isfinite(result.grad_norm) || result.loss > c.loss_above;
  if (result.diverged) return result;
  training.optimizer->step(training.learning_rate(t));
  for (const auto& group : training.groups) constrain_(group);
  if (communicator.size() > 1)  // what each rank counted of its own tokens (loads of experts)
    for (auto& group : training.state)
      if (group.name.ends_with(".counts")) communicator.sum_(group.tensor);
  training.model->after_step();
  return result;
}

RunResult train_run(const Json& json, const TokenSource& source, Communicator& communicator,
                    const RunOptions& options) {
  const std::string run_id = run_id_of(json);
  const RunConfig c = read_run_config(json, "configuration of run " + run_id);
  if (c.batch_sequences % communicator.size() != 0)
    throw UserError({.what = "the batch cannot be split over the ranks",
                     .found = std::to_string(communicator.size()) + " ranks",
                     .expected = "a divisor of " + std::to_string(c.batch_sequences)});
  fix_arithmetic(c.threads);
  check_data(c, source);
  const Batches batches(source, c.size.context, c.batch_sequences, static_cast<uint64_t>(c.seed));
  const ValidationSlice slice(source, c.size.context, c.validation_tokens);
  const Fingerprint& print = options.fingerprint;

  RunFolder folder(options.runs_folder, run_id);
  std::string reason;
  if (reusable(folder, json, options.canary, &reason)) return RunResult::kReused;
  Training training(c);
  // Before anything is written or trained: a probe that does not work costs and leaves nothing.
  const Batch probed = slice.windows(0, std::min(c.micro_batch_sequences, slice.num_windows()));
  Json probes_at_start;
  if (!c.probes.empty())
    probes_at_start =
        probe_at_start(*training.model, *training.optimizer, c.probes, probed, training.device);

  const Json manifest =
      make_manifest(json, c, options, print, source, slice, training.num_parameters());
  // Half-finished work of another build, machine class or data is never continued: its bits would
  // be mixed.
  Json old = folder.manifest();
  if (!old.is_null()) {
    old["name"] = options.name;
    old["perf_class"] = print.perf_class;
    if (Json& old_print = old["fingerprint"]; old_print.is_object())
      old_print["perf"] = manifest["fingerprint"]["perf"];
  }
  if (!reason.empty() || (!old.is_null() && old != manifest) || !folder.summary().is_null()) {
    log_warning(options.name + " is done anew: " +
                (reason.empty() ? "half-finished by another build or machine class" : reason));
    folder.clear();
  }
  folder.write_manifest(manifest);

  CheckpointProgress progress;
  if (const auto found = load_newest_checkpoint(folder.path(), run_id, folder.num_step_lines(),
                                                training.state, *training.optimizer)) {
    progress = *found;
    ++progress.sessions;
    log_info(options.name + " goes on at step " + std::to_string(progress.step + 1) + " of " +
             std::to_string(c.num_steps()));
  }
  folder.open_steps(progress.step);
  const auto checkpoint = [&] {
    folder.flush_steps();
    save_checkpoint(folder.path(), run_id, progress, training.state, *training.optimizer);
  };

  Progress bar(options.name, static_cast<double>(c.token_budget), "tokens");
  StepResult result;
  auto last_checkpoint = Clock::now();
  while (progress.step < c.num_steps()) {
    const auto start = Clock::now();
    const int64_t t = progress.step + 1;
    result = train_step(training, c, batches, communicator, t);
    const double seconds = seconds_since(start);
    progress.step = t;
    progress.seconds_train += seconds;
    Json line = {{"step", t},
                 {"tokens", t * c.tokens_per_step()},
                 {"lr", training.learning_rate(t)},
                 {"seconds", std::round(seconds * 1e6) / 1e6}};
    // JSON holds no NaN: a loss that is not a number is written as null.
    const auto number = [](float value) {
      return std::isfinite(value) ? Json(short_float(value)) : Json(nullptr);
    };
    line["loss"] = number(result.loss);
    line["grad_norm"] = number(result.grad_norm);
    if (!c.probes.empty() && (t % std::max<int64_t>(1, c.num_steps() / 20) == 0))
      if (const Json seen = step_diagnostics(*training.model, *training.optimizer, c.probes);
          !seen.empty())
        line["diagnostics"] = seen;
    folder.append_step(line);
    if (result.diverged) break;
    bar.update(static_cast<double>(t * c.tokens_per_step()),
               "loss " + std::to_string(result.loss).substr(0, 5));
    const bool stop = interrupted();
    if (progress.step < c.num_steps() &&
        (stop || seconds_since(last_checkpoint) >= options.checkpoint_seconds)) {
      checkpoint();
      last_checkpoint = Clock::now();
    }
    if (stop && progress.step < c.num_steps()) stop_if_interrupted();
  }

  Json summary = {{"schema", "normbench-summary-1"},
                  {"run_id", run_id},
                  {"steps", progress.step},
                  {"tokens", progress.step * c.tokens_per_step()},
                  {"sessions", progress.sessions},
                  {"seconds_train", progress.seconds_train},
                  {"peak_memory_bytes", peak_memory_bytes()},
                  {"validation_tokens", c.validation_tokens}};
  summary["train_loss_last"] =
      std::isfinite(result.loss) ? Json(short_float(result.loss)) : Json(nullptr);
  summary["tokens_per_second"] =
      static_cast<double>(progress.step * c.tokens_per_step()) / progress.seconds_train;
  if (!result.diverged) {
    const auto start = Clock::now();
    const double loss =
        validation_loss(*training.model, slice, c.micro_batch_sequences, training.device);
    // The last update has no training loss after it: here it shows what it did.
    result.diverged = !std::isfinite(loss);
    if (!result.diverged) {
      summary["validation_loss"] = loss;
      summary["validation_loss_bits"] = double_bits(loss);
      summary["seconds_evaluation"] = seconds_since(start);
      summary["weights_digest"] = weights_digest(training.state);
    }
  }
  summary["status"] = result.diverged ? "diverged" : "finished";
  if (result.diverged) {
    summary["diverged_at_step"] = progress.step;
  } else if (!c.probes.empty()) {
    summary["probes_at_start"] = probes_at_start;
    summary["probes"] =
        probe(*training.model, *training.optimizer, c.probes, probed, training.device);
  }
  folder.finish(summary, summary_of_lines);
  if (!options.keep_checkpoints) remove_checkpoints(folder.path());
  return result.diverged ? RunResult::kDiverged : RunResult::kFinished;
}

}  // namespace normbench
