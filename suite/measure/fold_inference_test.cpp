#include "suite/measure/fold_inference.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace normbench {
namespace {

const FoldInferenceOptions kSmall = {.num_layers = 2,
                                     .width = 32,
                                     .mlp_width = 64,
                                     .context = 16,
                                     .vocabulary = 64,
                                     .batch_sequences = 2,
                                     .rounds = 3};

TEST(FoldInference, LogitsAgreeInFp32AndEveryRoundIsARow) {
  Rows rows;
  measure_fold_inference(kSmall, 0, torch::kCPU, rows);
  EXPECT_EQ(rows.rows().size(), 3u);
  EXPECT_LT(rows.values().at("max_relative_error"), 1e-6);
  // Two ways of rounding are not the same bits: an error of exactly 0 would be a comparison of one
  // path with itself.
  EXPECT_GT(rows.values().at("max_relative_error"), 0);
  for (const char* name : {"angpt_seconds", "folded_seconds", "gpt_plus_seconds"})
    EXPECT_GT(rows.values().at(name), 0) << name;
}

// The meta device holds no numbers: to compute there fails, to compute on the CPU all the same does
// not.
TEST(FoldInference, ComputesOnTheDeviceOfTheConfiguration) {
  Rows rows;
  EXPECT_THROW(measure_fold_inference(kSmall, 0, torch::kMeta, rows), c10::Error);
  EXPECT_TRUE(rows.rows().empty());
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  measure_fold_inference(kSmall, 0, torch::kCUDA, rows);
  EXPECT_EQ(rows.rows().size(), 3u);
  EXPECT_LT(rows.values().at("max_relative_error"), 1e-6);
}

TEST(FoldInference, RefusesNothingToTime) {
  FoldInferenceOptions none = kSmall;
  none.rounds = 0;
  Rows rows;
  EXPECT_THROW(measure_fold_inference(none, 0, torch::kCPU, rows), UserError);
  FoldInferenceOptions uneven = kSmall;
  uneven.num_heads = 3;
  EXPECT_THROW(measure_fold_inference(uneven, 0, torch::kCPU, rows), UserError);
}

}  // namespace
}  // namespace normbench
