#include "suite/plan/estimate.h"

#include <algorithm>
#include <filesystem>

#include "suite/base/checkpoint_name.h"
#include "suite/base/files.h"
#include "suite/base/median.h"

namespace normbench {
namespace {

// Rough rates where nothing was measured yet: a CPU core at these small shapes, one data-centre GPU
// in bf16.
constexpr double kCpuFlopsPerSecond = 45e9;
constexpr double kGpuFlopsPerSecond = 200e12;
constexpr double kStartSeconds = 1.0;  // loading LibTorch, the canary, the validation slice
constexpr double kMeasurementSeconds = 10.0;

/// What decides the speed of a step: the model, its shape, the batch, the device. Of a measurement:
/// all of its options.
std::string shape_of(const Json& config) {
  if (config.contains("task"))
    return canonical(
        {config.at("task"), config.at("options"), config.at("device"), config.at("threads")});
  return canonical({config.at("model"), config.at("size"), config.at("micro_batch_sequences"),
                    config.at("precision"), config.at("device"), config.at("threads")});
}

/// Step of the newest checkpoint in a folder; 0 without one.
int64_t newest_checkpoint(const std::filesystem::path& folder) {
  int64_t newest = 0;
  std::error_code absent;
  for (const auto& file : std::filesystem::directory_iterator(folder, absent))
    newest = std::max(newest, checkpoint_step(file.path().filename().string()).value_or(0));
  return newest;
}

}  // namespace

double training_flops_per_token(const Json& config) {
  const Json& size = config.at("size");
  const double layers = size.at("num_layers"), width = size.at("width"), mlp = size.at("mlp_width"),
               vocabulary = size.at("vocabulary"), context = size.at("context");
  const double weights = layers * (4 * width * width + 3 * width * mlp) + vocabulary * width;
  return 6 * weights + 6 * layers * context * width;
}

Estimate::Estimate(const std::string& runs_folder) {
  if (std::error_code absent; !std::filesystem::exists(runs_folder, absent)) return;
  for (const auto& entry : std::filesystem::directory_iterator(runs_folder)) {
    const auto summary_file = entry.path() / "summary.json",
               manifest_file = entry.path() / "manifest.json";
    if (!std::filesystem::exists(summary_file) || !std::filesystem::exists(manifest_file)) {
      if (const int64_t step = newest_checkpoint(entry.path()); step > 0)
        begun_[entry.path().filename().string()] = step;
      continue;
    }
    try {
      const Json summary = read_json(summary_file.string()),
                 manifest = read_json(manifest_file.string());
      const char* speed =
          manifest.at("config").contains("task") ? "seconds_measure" : "tokens_per_second";
      seen_.push_back({shape_of(manifest.at("config")), summary.at(speed).get<double>()});
      finished_.push_back(entry.path().filename().string());
    } catch (const std::exception&) {
      // An unreadable record is no evidence of speed; judging it is not this file's business.
    }
  }
}

double Estimate::seconds(const PlannedRun& run, bool* measured) const {
  const double tokens = static_cast<double>(run.token_budget);
  const std::string shape = shape_of(run.config);
  std::vector<double> speeds;
  for (const auto& seen : seen_)
    if (seen.shape == shape && seen.speed > 0) speeds.push_back(seen.speed);
  if (measured != nullptr) *measured = !speeds.empty();
  if (!speeds.empty()) {
    const double speed = median(speeds);
    return kStartSeconds + (run.task.empty() ? tokens / speed : speed);
  }
  if (!run.task.empty()) return kStartSeconds + kMeasurementSeconds;
  const double rate = run.device == "cuda" ? kGpuFlopsPerSecond : kCpuFlopsPerSecond;
  return kStartSeconds + tokens * training_flops_per_token(run.config) / rate;
}

double Estimate::seconds_left(const PlannedRun& run, bool* measured) const {
  const double whole = seconds(run, measured);
  const auto begun = begun_.find(run.run_id);
  if (begun == begun_.end()) return whole;
  const Json& config = run.config;
  const double done = static_cast<double>(begun->second) *
                      config.at("batch_sequences").get<double>() *
                      config.at("size").at("context").get<double>();
  const double share = 1 - std::min(1.0, done / static_cast<double>(run.token_budget));
  return kStartSeconds + (whole - kStartSeconds) * share;
}

bool Estimate::finished(const std::string& run_id) const {
  return std::find(finished_.begin(), finished_.end(), run_id) != finished_.end();
}

}  // namespace normbench
