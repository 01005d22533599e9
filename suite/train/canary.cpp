#include "suite/train/canary.h"

#include <torch/torch.h>

#include <chrono>

#include "optim/optimizer.h"
#include "suite/base/files.h"
#include "suite/base/hash.h"
#include "suite/base/interrupt.h"
#include "suite/base/random.h"
#include "suite/base/record_digest.h"
#include "suite/train/device.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

/// Tokens straight from the generator, skewed so that there is something to learn.
class GeneratedTokens : public TokenSource {
 public:
  explicit GeneratedTokens(int64_t vocabulary)
      : vocabulary_(vocabulary), stream_(0, "generated tokens") {}
  int64_t vocabulary() const override { return vocabulary_; }
  int64_t num_train_tokens() const override { return 1 << 20; }
  int64_t num_validation_tokens() const override { return 1 << 12; }
  void read_train(int64_t offset, int64_t count, int64_t* out) const override {
    read(offset, count, out);
  }
  void read_validation(int64_t offset, int64_t count, int64_t* out) const override {
    read(offset + (1 << 24), count, out);
  }
  std::string train_digest() const override { return ""; }
  std::string validation_digest() const override { return ""; }

 private:
  void read(int64_t offset, int64_t count, int64_t* out) const {
    for (int64_t i = 0; i < count; ++i) {
      const double u = stream_.uniform(static_cast<uint64_t>(offset + i));
      out[i] =
          std::min(vocabulary_ - 1, static_cast<int64_t>(u * u * static_cast<double>(vocabulary_)));
    }
  }
  int64_t vocabulary_;
  RandomStream stream_;
};

}  // namespace

CanaryResult run_canary(const Json& canary_config) {
  const RunConfig c = read_run_config(canary_config, "configuration of a canary");
  fix_arithmetic(c.threads);
  const GeneratedTokens source(c.size.vocabulary);
  const Batches batches(source, c.size.context, c.batch_sequences, 0);
  const auto communicator = single_communicator();
  Training training(c);
  StreamHash hash;
  CanaryResult canary;
  for (int64_t t = 1; t <= c.num_steps(); ++t) {
    stop_if_interrupted();
    const StepResult result = train_step(training, c, batches, *communicator, t);
    const float bits[] = {result.loss, result.grad_norm};
    hash.update_values<float>(bits);
    if (result.diverged) break;
    canary.numbers.push_back(static_cast<double>(result.loss));
  }
  // The last update has no loss of its own.
  for (const auto& group : training.state) {
    const torch::Tensor cpu = group.tensor.detach().cpu().contiguous();
    hash.update({static_cast<const char*>(cpu.const_data_ptr()), cpu.nbytes()});
  }
  canary.digest = hash.hex();
  return canary;
}

CanaryResult cached_canary(const Json& canary_config, CanaryResult (*run)(const Json&),
                           const std::string& cache_folder, const std::string& build_id,
                           const std::string& numeric_class) {
  const std::string file = cache_folder + "/" + run_id_of(canary_config) + ".json";
  if (auto known = remembered_canary(file, build_id);
      known && known->numeric_class == numeric_class)
    return *known;
  CanaryResult canary = run(canary_config);
  canary.numeric_class = numeric_class;
  Json remembered = {{"schema", "normbench-canary-1"}, {"build_id", build_id}};
  write_canary(canary, remembered);
  write_json(file, remembered);
  return canary;
}

std::vector<double> time_steps(const Json& config, int64_t steps) {
  constexpr int64_t kWarmUp = 3;
  const RunConfig c = read_run_config(config, "configuration to time");
  fix_arithmetic(c.threads);
  const GeneratedTokens source(c.size.vocabulary);
  const Batches batches(source, c.size.context, c.batch_sequences, 0);
  const auto communicator = single_communicator();
  Training training(c);
  std::vector<double> seconds;
  for (int64_t t = 1; t <= kWarmUp + steps; ++t) {
    stop_if_interrupted();
    const auto start = std::chrono::steady_clock::now();
    train_step(training, c, batches, *communicator, t);
    if (t > kWarmUp)
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

}  // namespace normbench
