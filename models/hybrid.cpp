#include "models/hybrid.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace normbench {

void Mamba2Options::resolve(int64_t width) {
  check_limits(*this, "the Mamba-2 mixer");
  if (ssm_heads == 0)
    ssm_heads = num_groups * std::max<int64_t>(
                                 1, std::llround(1.5 * static_cast<double>(width) /
                                                 static_cast<double>(num_groups * ssm_head_width)));
  check_option("ssm_heads", ssm_heads, ssm_heads % num_groups == 0,
               "a multiple of num_groups, " + std::to_string(num_groups));
}

namespace {

template <class Options>
void check_all_unused(const Options& options, const std::string& condition) {
  const Json given = options_json(options), unused = options_json(Options{});
  for (const auto& item : given.items())
    check_unused(item.key(), item.value(), unused[item.key()], condition);
}

}  // namespace

void HybridOptions::resolve(const ModelSize& size) {
  const auto wrong = pattern.find_first_not_of("ME*-");
  if (pattern.empty() || wrong != std::string::npos)
    throw UserError({.what = "no layer has this letter",
                     .where = "pattern",
                     .found = "\"" + pattern + "\"",
                     .expected = "letters M (Mamba-2), E (experts), * (attention), - (MLP)"});
  if (has('*')) {
    if (num_kv_heads == 0) num_kv_heads = size.num_heads;
    if (size.num_heads % num_kv_heads != 0)
      throw UserError({.what = "heads of keys and values cannot be shared evenly",
                       .where = "num_kv_heads",
                       .found = std::to_string(num_kv_heads) + " for " +
                                std::to_string(size.num_heads) + " heads",
                       .expected = "a divisor of the number of heads, or 0 for as many"});
  } else {
    check_unused("num_kv_heads", num_kv_heads, HybridOptions{}.num_kv_heads, "the pattern has *");
  }
  if (has('M'))
    mamba.resolve(size.width);
  else
    check_all_unused(mamba, "the pattern has M");
  if (has('E'))
    moe.resolve(size.width);
  else
    check_all_unused(moe, "the pattern has E");
}

bool hybrid_writes_residual(const std::string& name) {
  return is_named(name, "out_proj.weight") || is_named(name, "attn.o.weight") ||
         is_named(name, "down.weight");
}

void hybrid_after_step(torch::nn::Module& model) {
  for (const auto& module : model.modules())
    if (auto* moe = module->as<MoeImpl>()) moe->update_bias_();
}

std::vector<std::pair<std::string, torch::Tensor>> hybrid_diagnostics(torch::nn::Module& model) {
  torch::NoGradGuard no_grad;
  std::vector<std::pair<std::string, torch::Tensor>> all;
  const auto add = [&](const std::string& name, const torch::Tensor& value) {
    if (value.defined()) all.emplace_back(name, value);
  };
  for (const auto& item : model.named_modules()) {
    if (const auto* mamba = item.value()->as<Mamba2Impl>()) {
      add(item.key() + ".s_mamba", mamba->s_mamba());
      add(item.key() + ".dt", mamba->dt_seen);
    }
    if (const auto* moe = item.value()->as<MoeImpl>()) {
      add(item.key() + ".s_moe", moe->s_moe());
      add(item.key() + ".load", moe->load);
      add(item.key() + ".bias", moe->router->bias);
      add(item.key() + ".score_spread", moe->score_spread);
    }
  }
  return all;
}

void hybrid_reset_vectors_(torch::nn::Module& model, uint64_t seed) {
  for (const auto& item : model.named_modules()) {
    if (auto* mamba = item.value()->as<Mamba2Impl>()) mamba->reset_vectors_(seed, item.key() + ".");
    if (auto* moe = item.value()->as<MoeImpl>()) moe->reset_router_();
  }
}

torch::Tensor with_gradient_of(const torch::Tensor& loss, const torch::Tensor& balance) {
  return balance.defined() ? loss + (balance - balance.detach()) : loss;
}

}  // namespace normbench
