#include "suite/measure/fold_inference.h"

#include <torch/torch.h>

#include <chrono>
#include <functional>

#include "models/angpt_folded.h"
#include "models/gpt_plus.h"
#include "suite/base/interrupt.h"
#include "suite/base/median.h"
#include "suite/base/random.h"
#include "suite/ops/initialize.h"

namespace normbench {
namespace {

/// Seconds of a forward pass. A GPU is still at work when the call returns; to read one logit is to
/// wait for all.
double seconds_of(const std::function<torch::Tensor()>& logits) {
  const auto start = std::chrono::steady_clock::now();
  logits().flatten()[0].item<float>();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Multiplies every scale by a normal factor around 1.
void move_scales_(Model& model, uint64_t seed) {
  torch::NoGradGuard no_grad;
  for (auto& group : model.parameter_groups()) {
    if (group.tensor.dim() == 2) continue;
    torch::Tensor factor = torch::empty_like(group.tensor);
    ops::fill_normal_(factor, 0.3, seed, "factor." + group.name);
    group.tensor.mul_(1 + factor);
  }
}

}  // namespace

void measure_fold_inference(const FoldInferenceOptions& o, uint64_t seed, torch::Device device,
                            Rows& rows) {
  if (o.rounds < 1 || o.batch_sequences < 1)
    throw UserError({.what = "nothing to time",
                     .where = "fold_inference",
                     .found = std::to_string(o.rounds) + " rounds of " +
                              std::to_string(o.batch_sequences) + " sequences"});
  torch::NoGradGuard no_grad;
  ModelSize size{.num_layers = o.num_layers,
                 .width = o.width,
                 .num_heads = o.num_heads,
                 .mlp_width = o.mlp_width,
                 .vocabulary = o.vocabulary,
                 .context = o.context};
  size.check();
  Angpt angpt(size, AngptOptions{});
  GptPlus gpt_plus(size, GptPlusOptions{});
  angpt.reset_parameters(seed);
  gpt_plus.reset_parameters(seed);
  move_scales_(angpt, seed);
  angpt.to(device);
  gpt_plus.to(device);
  AngptFolded folded(angpt);

  const RandomStream stream(seed, "tokens");
  std::vector<int64_t> ids(static_cast<size_t>(o.batch_sequences * o.context));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int64_t>(stream.bits(i) % static_cast<uint64_t>(o.vocabulary));
  const auto tokens = torch::tensor(ids).view({o.batch_sequences, o.context}).to(device);
  const auto expected = angpt.logits(tokens), found = folded.logits(tokens);
  rows.value("max_relative_error",
             ((found - expected).abs().max() / expected.abs().max()).item<double>());

  constexpr int64_t kUncounted = 3;
  std::vector<double> angpt_seconds, folded_seconds, gpt_plus_seconds;
  for (int64_t round = 1 - kUncounted; round <= o.rounds; ++round) {
    stop_if_interrupted();
    const double a = seconds_of([&] { return angpt.logits(tokens); }),
                 f = seconds_of([&] { return folded.logits(tokens); }),
                 g = seconds_of([&] { return gpt_plus.logits(tokens); });
    if (round < 1) continue;
    rows.add({{"angpt_seconds", a}, {"folded_seconds", f}, {"gpt_plus_seconds", g}});
    angpt_seconds.push_back(a);
    folded_seconds.push_back(f);
    gpt_plus_seconds.push_back(g);
  }
  rows.value("angpt_seconds", median(angpt_seconds));
  rows.value("folded_seconds", median(folded_seconds));
  rows.value("gpt_plus_seconds", median(gpt_plus_seconds));
}

MeasureEntry fold_inference() {
  return device_measure_entry<FoldInferenceOptions, measure_fold_inference>(
      "fold_inference", "arXiv 2505.22014 v2, section 4.2: constants folded into weights",
      {.num_layers = 1, .width = 16, .mlp_width = 32, .context = 8, .vocabulary = 32, .rounds = 1});
}

}  // namespace normbench
