#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "optim/angular_cap.h"
#include "suite/base/files.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"
#include "suite/base/testing/interrupted.h"
#include "suite/base/testing/temporary_folder.h"
#include "suite/train/canary.h"
#include "suite/train/checkpoint.h"
#include "suite/train/device.h"
#include "suite/train/evaluate.h"
#include "suite/train/testing/tokens.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

using testing::CountingTokens;
using testing::micro_config;

TEST(Train, ALossFallsFarBelowThatOfGuessing) {
  fix_arithmetic(1);
  const CountingTokens source;
  // Unit rows need a larger rate: nGPT's optimum is near 0.24 / sqrt(width) (0.04 here).
  for (const auto& [model, peak_lr] :
       {std::pair("gpt_plus", 0.01), std::pair("ngpt", 0.04), std::pair("angpt", 0.01)}) {
    Json json = micro_config(model);
    json["peak_lr"] = peak_lr;
    json["token_budget"] = 60 * 4 * 32;
    const RunConfig config = read_run_config(json, "test");
    const Batches batches(source, 32, 4, 0);
    const auto communicator = single_communicator();
    Training training(config);
    for (int64_t t = 1; t <= config.num_steps(); ++t)
      ASSERT_FALSE(train_step(training, config, batches, *communicator, t).diverged);
    const double loss =
        validation_loss(*training.model, ValidationSlice(source, 32, 128), 2, training.device);
    EXPECT_LT(loss, std::log(97.0) / 2) << model;  // guessing gives ln 97
  }
}

TEST(Train, MicroBatchesGiveTheGradientOfTheWholeBatch) {
  fix_arithmetic(1);
  const CountingTokens source;
  const Batches batches(source, 32, 4, 0);
  const auto communicator = single_communicator();
  Json whole = micro_config(), halves = micro_config();
  whole["micro_batch_sequences"] = 4;
  Training a(read_run_config(whole, "whole")), b(read_run_config(halves, "halves"));
  const auto x = train_step(a, read_run_config(whole, "whole"), batches, *communicator, 1);
  const auto y = train_step(b, read_run_config(halves, "halves"), batches, *communicator, 1);
  // fp32 sums of 128 losses and of as many gradient terms in another order.
  EXPECT_NEAR(x.loss, y.loss, 128 * 6e-8 * x.loss);
  EXPECT_NEAR(x.grad_norm, y.grad_norm, 1e-4 * x.grad_norm);
}

TEST(Train, ACanaryIsAFunctionOfItsConfigurationAlone) {
  const CanaryResult first = run_canary(micro_config("angpt"));
  EXPECT_EQ(first.numbers.size(), 20u);  // a loss a step
  EXPECT_EQ(run_canary(micro_config("angpt")).digest, first.digest);
  EXPECT_EQ(run_canary(micro_config("angpt")).numbers, first.numbers);
  EXPECT_NE(run_canary(micro_config("gpt_plus")).digest, first.digest);
  // What the smallest change of arithmetic looks like: an eps in the 9th digit.
  Json changed = micro_config("angpt");
  changed["optimizer_options"]["eps"] = 1.0001e-8;
  EXPECT_NE(run_canary(changed).digest, first.digest);
}

TEST(Train, AConstraintHoldsAfterEveryStep) {
  fix_arithmetic(1);
  const CountingTokens source;
  const RunConfig config = read_run_config(micro_config("ngpt"), "test");
  const Batches batches(source, 32, 4, 0);
  const auto communicator = single_communicator();
  Training training(config);
  for (int64_t t = 1; t <= 3; ++t) train_step(training, config, batches, *communicator, t);
  for (const auto& group : training.groups) {
    if (group.constraint != RowConstraint::kUnit) continue;
    const auto norms = group.tensor.detach().norm(2, group.axis);
    // One fp32 division a row: a few units in the last place of 1.
    EXPECT_LT((norms - 1).abs().max().item<double>(), 1e-6) << group.name;
  }
}

TEST(Train, ANonFiniteLossIsDivergenceAndTouchesNoWeight) {
  fix_arithmetic(1);
  const CountingTokens source;
  const RunConfig config = read_run_config(micro_config(), "test");
  const Batches batches(source, 32, 4, 0);
  const auto communicator = single_communicator();
  Training training(config);
  {
    torch::NoGradGuard no_grad;
    training.groups.front().tensor.fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const auto before = training.groups.back().tensor.clone();
  EXPECT_TRUE(train_step(training, config, batches, *communicator, 1).diverged);
  EXPECT_TRUE(torch::equal(before, training.groups.back().tensor));
}

TEST(Train, MuonTakesNeitherScalesNorRouters) {
  Json json = micro_config("ngpt_hybrid");
  json["model_options"] = {{"pattern", "E*"}, {"num_experts", 4}};
  json["optimizer"] = "muon";
  const Training training(read_run_config(json, "test"));
  const auto state = training.optimizer->state();
  for (const char* name :
       {"embed.weight", "head.weight", "head.scale", "blocks.0.moe.router.weight",
        "blocks.0.moe.router_scale", "blocks.1.attn.qk_scale"}) {
    EXPECT_EQ(state.count(std::string("momentum.") + name), 0u) << name;
    EXPECT_EQ(state.count(std::string("m.") + name), 1u) << name;
  }
  EXPECT_EQ(state.count("momentum.blocks.1.attn.q.weight"), 1u);
  EXPECT_EQ(state.count("momentum.blocks.0.moe.experts.0.up.weight"), 1u);
}

TEST(Train, AnAngularCapLeavesEmbeddingAndHeadAlone) {
  fix_arithmetic(1);
  const CountingTokens source;
  const auto communicator = single_communicator();
  for (const std::string model : {"ngpt", "ngpt_hybrid"}) {
    Json json = micro_config(model);
    json["optimizer"] = "adamw_capped";
    const RunConfig config = read_run_config(json, "test");
    Training training(config);
    train_step(training, config, Batches(source, 32, 4, 0), *communicator, 1);
    const auto& capped = dynamic_cast<AngularCap&>(*training.optimizer).last_step();
    size_t expected = 0;
    for (const auto& group : training.groups)
      expected += group.constraint == RowConstraint::kUnit && group.name != "embed.weight" &&
                  group.name != "head.weight";
    EXPECT_EQ(capped.size(), expected) << model;
    EXPECT_GT(expected, 4u) << model;
    for (const char* name : {"embed.weight", "head.weight"})
      EXPECT_FALSE(capped.contains(name)) << model << " " << name;
  }
}

TEST(Train, ARecordHasTheRoutersLoadAndTheScalarsOfTheHybrid) {
  const testing::TemporaryFolder runs;
  const CountingTokens source;
  const auto communicator = single_communicator();
  Json json = micro_config("ngpt_hybrid");
  json["model_options"] = {{"pattern", "ME"}, {"num_experts", 4}};
  json["probes"] = {"model"};
  RunOptions options;
  options.runs_folder = runs.path();
  ASSERT_EQ(train_run(json, source, *communicator, options), RunResult::kFinished);
  int lines = 0;
  for (const auto& text :
       read_record_lines(runs.path() + "/" + run_id_of(json) + "/steps.jsonl.zst")) {
    const Json line = Json::parse(text);
    if (!line.contains("diagnostics")) continue;
    const Json& seen = line["diagnostics"]["model"];
    double tokens = 0;
    for (const auto& load : seen.at("blocks.1.moe.load")) tokens += load.get<double>();
    EXPECT_NEAR(tokens, 1, 1e-5) << text;  // shares of the tokens that were sent
    for (const char* name : {"blocks.0.mamba.s_mamba", "blocks.1.moe.s_moe"})
      EXPECT_TRUE(seen.contains(name)) << text;
    ++lines;
  }
  EXPECT_EQ(lines, 20);  // of 20 steps
}

TEST(Train, AnAngularCapOnAModelWithoutUnitRowsIsRefusedBeforeTheFirstStep) {
  for (const std::string model : {"angpt", "hybrid_prenorm", "ngpt"}) {
    Json json = micro_config(model);
    json["optimizer"] = "gated_adamw_capped";
    if (model == "ngpt") json["model_options"] = {{"rows", "bound"}};
    EXPECT_THROW(Training(read_run_config(json, "test")), UserError) << model;
  }
  Json json = micro_config("ngpt");
  json["optimizer"] = "gated_adamw_capped";
  EXPECT_NO_THROW(Training(read_run_config(json, "test")));
}

// The last update has no loss of its own: only the validation loss tells.
TEST(Train, ANonFiniteValidationLossIsDivergenceAndIsNotRepeated) {
  const testing::TemporaryFolder runs;
  const CountingTokens source;
  const auto communicator = single_communicator();
  Json json = micro_config();
  json["schedule"] = "constant";
  json["token_budget"] = 4 * 32;  // one step
  json["peak_lr"] = 1e39;         // infinite in fp32
  RunOptions options;
  options.runs_folder = runs.path();
  EXPECT_EQ(train_run(json, source, *communicator, options), RunResult::kDiverged);
  const Json summary = read_json(runs.path() + "/" + run_id_of(json) + "/summary.json");
  EXPECT_EQ(summary.at("status"), "diverged");
  EXPECT_EQ(summary.at("diverged_at_step"), 1);
  EXPECT_TRUE(summary.at("train_loss_last").is_number());
  for (const char* key : {"validation_loss", "validation_loss_bits", "weights_digest"})
    EXPECT_FALSE(summary.contains(key)) << key;
  EXPECT_EQ(train_run(json, source, *communicator, options), RunResult::kReused);
}

/// What a run must find of itself again.
Json bits_of(const std::string& folder) {
  const Json summary = read_json(folder + "/summary.json");
  return {summary.at("validation_loss_bits"), summary.at("steps_digest"),
          summary.at("weights_digest")};
}

TEST(Train, AGarbledRecordIsDoneAnew) {
  const testing::TemporaryFolder runs;
  const CountingTokens source;
  const auto communicator = single_communicator();
  Json json = micro_config();
  json["token_budget"] = 2 * 4 * 32;  // two steps
  RunOptions options;
  options.runs_folder = runs.path();
  const std::string folder = runs.path() + "/" + run_id_of(json);
  ASSERT_EQ(train_run(json, source, *communicator, options), RunResult::kFinished);
  const Json bits = bits_of(folder);
  ASSERT_EQ(train_run(json, source, *communicator, options), RunResult::kReused);

  const auto expect_anew = [&](const std::string& what) {
    EXPECT_EQ(train_run(json, source, *communicator, options), RunResult::kFinished) << what;
    EXPECT_EQ(bits_of(folder), bits) << what;
    EXPECT_EQ(train_run(json, source, *communicator, options), RunResult::kReused) << what;
  };
  for (const std::string file : {"/manifest.json", "/summary.json"})
    for (const char* garbage : {"", "{", "[]", "null", "\xff"}) {
      write_file_atomically(folder + file, garbage);
      expect_anew(file + " holds " + garbage);
    }
  // Objects of another kind, also where nothing but the manifest is left of a session.
  for (const char* key : {"numeric_class", "canary_numbers", "fingerprint", "config"})
    for (const bool finished : {true, false}) {
      Json manifest = read_json(folder + "/manifest.json");
      manifest[key] = 5;
      write_json(folder + "/manifest.json", manifest);
      if (!finished) std::filesystem::remove(folder + "/summary.json");
      expect_anew(std::string("manifest with a wrong ") + key);
    }
  for (const char* key : {"run_id", "record_digest"}) {
    Json summary = read_json(folder + "/summary.json");
    summary[key] = 5;
    write_json(folder + "/summary.json", summary);
    expect_anew(std::string("summary with a wrong ") + key);
  }
}

TEST(Train, ASignalEndsACanaryATimingAndAValidation) {
  const auto interrupted = ::testing::ExitedWithCode(kExitInterrupted);
  EXPECT_EXIT(testing::run_after_a_signal([] { run_canary(micro_config()); }), interrupted, "");
  EXPECT_EXIT(testing::run_after_a_signal([] { time_steps(micro_config(), 1); }), interrupted, "");
  const CountingTokens source;
  Training training(read_run_config(micro_config(), "test"));
  EXPECT_EXIT(testing::run_after_a_signal([&] {
                validation_loss(*training.model, ValidationSlice(source, 32, 128), 2,
                                training.device);
              }),
              interrupted, "");
}

class Checkpoints : public ::testing::Test {
 protected:
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(Checkpoints, TheLastTwoAreKeptAndACutOneIsPassedOver) {
  Training training(read_run_config(micro_config(), "test"));
  for (int64_t step = 1; step <= 4; ++step)
    save_checkpoint(folder_, "id", {.step = step}, training.groups, *training.optimizer);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    files.push_back(entry.path().string());
  ASSERT_EQ(files.size(), 2u);
  std::sort(files.begin(), files.end());
  std::filesystem::resize_file(files[1], std::filesystem::file_size(files[1]) / 2);
  auto found = load_newest_checkpoint(folder_, "id", 99, training.groups, *training.optimizer);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 3);
  EXPECT_FALSE(
      load_newest_checkpoint(folder_, "another", 99, training.groups, *training.optimizer));
  EXPECT_FALSE(load_newest_checkpoint(folder_, "id", 2, training.groups, *training.optimizer))
      << "the step stream holds two steps only";
}

TEST_F(Checkpoints, OneThatDoesNotFitLeavesWeightsAndOptimizerAsTheyWere) {
  fix_arithmetic(1);
  const CountingTokens source;
  const Batches batches(source, 32, 4, 0);
  const auto communicator = single_communicator();
  Json with_muon = micro_config(), narrow = micro_config();
  with_muon["optimizer"] = "muon";
  narrow["size"]["mlp_width"] = 32;
  for (const Json& json : {with_muon, narrow}) {
    const RunConfig config = read_run_config(json, "test");
    Training other(config);
    for (int64_t t = 1; t <= 2; ++t) train_step(other, config, batches, *communicator, t);
    save_checkpoint(folder_, "id", {.step = 2}, other.state, *other.optimizer);
    const RunConfig plain = read_run_config(micro_config(), "test");
    Training target(plain), untouched(plain);
    EXPECT_FALSE(load_newest_checkpoint(folder_, "id", 2, target.state, *target.optimizer));
    for (size_t i = 0; i < target.state.size(); ++i)
      EXPECT_TRUE(torch::equal(target.state[i].tensor, untouched.state[i].tensor))
          << target.state[i].name;
    const auto fresh = untouched.optimizer->state();
    for (const auto& [name, tensor] : target.optimizer->state())
      EXPECT_TRUE(torch::equal(tensor, fresh.at(name))) << name;
  }
}

TEST_F(Checkpoints, WhatChangesWithoutAGradientIsKeptToo) {
  // The correction bias of a router: without it a resumed run would send tokens to other experts.
  fix_arithmetic(1);
  const CountingTokens source;
  Json json = micro_config("ngpt_hybrid");
  json["model_options"] = {{"pattern", "E*"}, {"num_experts", 4}, {"top_k", 1}};
  const RunConfig config = read_run_config(json, "test");
  const Batches batches(source, 32, 4, 0);
  const auto communicator = single_communicator();
  Training whole(config), first(config), resumed(config);
  ASSERT_GT(whole.state.size(), whole.groups.size());
  for (int64_t t = 1; t <= 6; ++t) train_step(whole, config, batches, *communicator, t);
  for (int64_t t = 1; t <= 3; ++t) train_step(first, config, batches, *communicator, t);
  save_checkpoint(folder_, "id", {.step = 3}, first.state, *first.optimizer);
  ASSERT_TRUE(load_newest_checkpoint(folder_, "id", 3, resumed.state, *resumed.optimizer));
  for (int64_t t = 4; t <= 6; ++t) train_step(resumed, config, batches, *communicator, t);
  for (size_t i = 0; i < whole.state.size(); ++i)
    EXPECT_TRUE(torch::equal(whole.state[i].tensor, resumed.state[i].tensor))
        << whole.state[i].name;
  const auto bias = std::find_if(whole.state.begin(), whole.state.end(), [](const auto& group) {
    return group.name.ends_with("router.bias");
  });
  ASSERT_NE(bias, whole.state.end());
  EXPECT_GT(bias->tensor.abs().max().item<double>(), 0) << "no bias has moved";
}

TEST(RunConfig, AnUnknownKeyOrABadBudgetIsAnError) {
  Json json = micro_config();
  json["sede"] = 1;
  EXPECT_THROW(read_run_config(json, "test"), UserError);
  json = micro_config();
  json["token_budget"] = 1000;
  EXPECT_THROW(read_run_config(json, "test"), UserError);
  json = micro_config();
  json["size"]["width"] = 33;
  json["size"]["head_width"] = 0;
  EXPECT_THROW(read_run_config(json, "test"), UserError);
}

}  // namespace
}  // namespace normbench
