// fix_arithmetic() leaves new tensors as memory holds them, for speed. That is right as long as
// nothing reads what was never written; here new tensors are full of NaN, and the bits of a
// training must stay what they are without.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/model.h"
#include "optim/optimizer.h"
#include "suite/base/hash.h"
#include "suite/train/device.h"
#include "suite/train/evaluate.h"
#include "suite/train/testing/tokens.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

using testing::CountingTokens;
using testing::micro_config;

void fill_new_tensors_with_nan(bool fill) {
  at::globalContext().setDeterministicFillUninitializedMemory(fill);
}

/// Hash of the losses, of the validation loss and of all weights after three steps.
std::string bits_of_a_training(const Json& json, bool new_tensors_are_nan) {
  fix_arithmetic(1);
  fill_new_tensors_with_nan(new_tensors_are_nan);
  const RunConfig config = read_run_config(json, "test");
  const CountingTokens source;
  const Batches batches(source, config.size.context, config.batch_sequences, 0);
  const auto communicator = single_communicator();
  Training training(config);
  StreamHash hash;
  for (int64_t t = 1; t <= 3; ++t) {
    const StepResult step = train_step(training, config, batches, *communicator, t);
    EXPECT_FALSE(step.diverged) << json["model"] << " " << json["optimizer"];
    const float numbers[] = {step.loss, step.grad_norm};
    hash.update_values<float>(numbers);
  }
  const double validation[] = {validation_loss(
      *training.model, ValidationSlice(source, config.size.context, 128), 2, training.device)};
  hash.update_values<double>(validation);
  for (const auto& group : training.state) {
    const torch::Tensor tensor = group.tensor.detach().contiguous();
    hash.update({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  fill_new_tensors_with_nan(false);
  return hash.hex();
}

TEST(UninitializedMemory, IsLeftAsItIsByFixArithmeticAndIsNaNInTheseTests) {
  fix_arithmetic(1);  // ATen fills under deterministic algorithms only
  fill_new_tensors_with_nan(true);
  EXPECT_TRUE(torch::empty({64}).isnan().all().item<bool>());
  fix_arithmetic(1);
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
}

TEST(UninitializedMemory, IsReadByNoArchitecture) {
  for (const auto& entry : model_registry()) {
    Json json = micro_config(entry.name);
    json["size"]["num_layers"] = 4;  // the hybrids' pattern reaches attention at the fourth
    EXPECT_EQ(bits_of_a_training(json, true), bits_of_a_training(json, false)) << entry.name;
  }
}

TEST(UninitializedMemory, IsReadByNoOptimizer) {
  for (const auto& entry : optimizer_registry()) {
    Json json = micro_config("ngpt");  // an angular cap needs unit rows
    json["optimizer"] = entry.name;
    EXPECT_EQ(bits_of_a_training(json, true), bits_of_a_training(json, false)) << entry.name;
  }
}

}  // namespace
}  // namespace normbench
