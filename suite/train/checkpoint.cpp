#include "suite/train/checkpoint.h"

#include <torch/torch.h>

#include <algorithm>
#include <filesystem>

#include "suite/base/checkpoint_name.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/log.h"
#include "suite/train/tensor_bytes.h"

namespace normbench {
namespace {

constexpr size_t kKept = 2;

/// Checkpoint files of a folder, newest first, half-written ones among them.
std::vector<std::filesystem::path> checkpoint_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
    if (entry.path().filename().string().starts_with(kCheckpointPrefix))
      files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  return files;
}

bool whole_name(const std::filesystem::path& file) {
  return checkpoint_step(file.filename().string()).has_value();
}

std::string content_digest(const std::map<std::string, TensorEntry>& tensors) {
  StreamHash hash;
  for (const auto& [name, tensor] : tensors) {
    hash.update(name);
    hash.update(tensor.bytes);
  }
  return hash.hex();
}

/// The file's tensor for each of `weights`. Throws UserError unless all are there and fit.
std::vector<torch::Tensor> weights_of(const SafetensorsFile& file,
                                      const std::vector<ParameterGroup>& weights,
                                      const std::string& path) {
  std::vector<torch::Tensor> tensors;
  for (const auto& weight : weights) {
    const auto entry = file.tensors().find("weights." + weight.name);
    if (entry == file.tensors().end())
      throw UserError(
          {.what = "a checkpoint lacks a weight", .where = path, .expected = weight.name});
    tensors.push_back(tensor_of(entry->second));
    if (tensors.back().sizes() != weight.tensor.sizes() ||
        tensors.back().scalar_type() != weight.tensor.scalar_type())
      throw UserError({.what = "a weight of a checkpoint does not fit the model",
                       .where = path,
                       .found = weight.name});
  }
  return tensors;
}

}  // namespace

void save_checkpoint(const std::string& folder, const std::string& run_id,
                     const CheckpointProgress& progress, const std::vector<ParameterGroup>& weights,
                     const Optimizer& optimizer) {
  std::map<std::string, torch::Tensor>
      held;  // keeps CPU copies alive while their bytes are written
  for (const auto& weight : weights)
    held["weights." + weight.name] = weight.tensor.detach().cpu().contiguous();
  for (const auto& [name, tensor] : optimizer.state())
    held["optimizer." + name] = tensor.detach().cpu().contiguous();
  std::map<std::string, TensorEntry> entries;
  for (const auto& [name, tensor] : held) entries.emplace(name, tensor_entry(tensor));

  const Json position = {{"schema", "normbench-checkpoint-1"},
                         {"run_id", run_id},
                         {"step", progress.step},
                         {"seconds_train", progress.seconds_train},
                         {"sessions", progress.sessions},
                         {"digest", content_digest(entries)}};
  write_file_atomically(folder + "/" + checkpoint_name(progress.step),
                        safetensors_bytes({{"normbench", canonical(position)}}, entries));

  size_t whole = 0;
  for (const auto& file : checkpoint_files(folder)) {
    if (whole_name(file) && whole < kKept) {
      ++whole;
      continue;
    }
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

std::optional<CheckpointProgress> load_newest_checkpoint(const std::string& folder,
                                                         const std::string& run_id,
                                                         int64_t max_step,
                                                         std::vector<ParameterGroup>& weights,
                                                         Optimizer& optimizer) {
  for (const auto& path : checkpoint_files(folder)) {
    if (!whole_name(path)) continue;  // a temporary file that a kill left behind
    try {
      const SafetensorsFile file(path.string());
      const auto found = file.metadata().find("normbench");
      if (found == file.metadata().end())
        throw UserError({.what = "not a checkpoint of this program", .where = path.string()});
      const Json position = parse_json(found->second, path.string());
      const JsonObject o(position, path.string());
      if (o.required<std::string>("schema") != "normbench-checkpoint-1" ||
          o.required<std::string>("run_id") != run_id)
        throw UserError({.what = "a checkpoint of another run",
                         .where = path.string(),
                         .found = o.required<std::string>("run_id"),
                         .expected = run_id});
      if (o.required<std::string>("digest") != content_digest(file.tensors()))
        throw UserError({.what = "a damaged checkpoint", .where = path.string()});
      const CheckpointProgress progress{.step = o.required<int64_t>("step"),
                                        .seconds_train = o.required<double>("seconds_train"),
                                        .sessions = o.required<int64_t>("sessions")};
      o.finish();
      if (progress.step > max_step)
        throw UserError({.what = "the step stream ends before this checkpoint",
                         .where = path.string(),
                         .found = std::to_string(max_step) + " steps"});

      std::map<std::string, torch::Tensor> state;
      for (const auto& [name, entry] : file.tensors())
        if (name.starts_with("optimizer.")) state.emplace(name.substr(10), tensor_of(entry));
      // Everything that can be refused comes before the first weight is touched: the run may start
      // anew on them.
      const auto found_weights = weights_of(file, weights, path.string());
      optimizer.load_state(state);
      torch::NoGradGuard no_grad;
      for (size_t i = 0; i < weights.size(); ++i) weights[i].tensor.copy_(found_weights[i]);
      return progress;
    } catch (const UserError& e) {
      log_warning(std::string("a checkpoint is passed over: ") + e.what());
    }
  }
  return std::nullopt;
}

void remove_checkpoints(const std::string& folder) {
  for (const auto& file : checkpoint_files(folder)) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace normbench
