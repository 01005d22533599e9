#include "models/layers.h"

#include <torch/torch.h>

#include <cmath>

#include "suite/ops/linear.h"
#include "suite/ops/logit_gradient.h"

namespace normbench {

namespace {
thread_local int shapes_only = 0;
}

void check_option(const std::string& name, const Json& value, bool fits,
                  const std::string& expected) {
  if (!fits)
    throw UserError({.what = "an option of the model is out of range",
                     .where = "model_options/" + name,
                     .found = value.dump(),
                     .expected = expected});
}

void check_unused(const std::string& name, const Json& value, const Json& unused,
                  const std::string& condition) {
  if (value != unused)
    throw UserError({.what = "an option of the model would be without effect",
                     .where = "model_options/" + name,
                     .found = value.dump(),
                     .expected = unused.dump() + ", unless " + condition});
}

ShapesOnly::ShapesOnly() { ++shapes_only; }
ShapesOnly::~ShapesOnly() { --shapes_only; }

torch::Tensor new_parameter(at::IntArrayRef shape) {
  return torch::empty(
      shape, torch::TensorOptions(torch::kFloat).device(shapes_only ? torch::kMeta : torch::kCPU));
}

Rope::Rope(const ModelSize& size, double fraction, double base, const std::string& pairs)
    : context_(size.context),
      rotary_width_(std::llround(fraction * static_cast<double>(size.head_width))),
      base_(base),
      pairs_(pairs == "half"          ? ops::RopePairs::kHalf
             : pairs == "interleaved" ? ops::RopePairs::kInterleaved
                                      : ops::RopePairs::kPublished) {
  const bool whole = pairs_ != ops::RopePairs::kPublished || rotary_width_ == size.head_width;
  const double entries = fraction * static_cast<double>(size.head_width);
  const bool counts = std::abs(entries - static_cast<double>(rotary_width_)) < 1e-9;
  if (rotary_width_ < 2 || rotary_width_ > size.head_width || rotary_width_ % 2 != 0 || !counts ||
      !whole)
    throw UserError(
        {.what = "this part of a head cannot be turned in pairs",
         .where = "rope_fraction",
         .found = Json(entries).dump() + " of " + std::to_string(size.head_width) + " entries",
         .expected =
             whole ? "an even number of entries" : "the whole head for the published table"});
}

torch::Tensor Rope::operator()(const torch::Tensor& x) {
  const int64_t num_tokens = x.size(1);
  TORCH_CHECK(num_tokens <= context_, "rope: ", num_tokens, " tokens, but the context is ",
              context_);
  const auto type = x.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  if (!table_.cos.defined() || table_.cos.scalar_type() != type ||
      table_.cos.device() != x.device()) {
    table_ = ops::rope_table(context_, rotary_width_, base_, pairs_, type);
    table_.cos = table_.cos.to(x.device());
    table_.sin = table_.sin.to(x.device());
    shorter_ = {};
  }
  if (num_tokens == context_) return ops::rope(x, table_);
  if (!shorter_.cos.defined() || shorter_.cos.size(0) != num_tokens) {
    shorter_ = table_;
    shorter_.cos = table_.cos.narrow(0, 0, num_tokens);
    shorter_.sin = table_.sin.narrow(0, 0, num_tokens);
  }
  return ops::rope(x, shorter_);
}

torch::Tensor embed_tokens(const torch::Tensor& weight, const torch::Tensor& tokens,
                           torch::ScalarType compute_type) {
  return torch::embedding(weight, tokens).to(compute_type);
}

torch::Tensor head_logits(const torch::Tensor& h, const torch::Tensor& weight,
                          const std::optional<torch::Tensor>& scale) {
  const auto logits = ops::linear(h, weight);
  const auto wide = logits.scalar_type() == torch::kDouble ? logits : logits.to(torch::kFloat);
  return scale ? *scale * wide : wide;
}

torch::Tensor head_loss(const torch::Tensor& h, const torch::Tensor& weight,
                        const std::optional<torch::Tensor>& scale, const torch::Tensor& targets,
                        std::optional<double> lgp_q) {
  TORCH_CHECK(scale || !lgp_q, "head_loss: lgp_q without a scale of the logits");
  if (lgp_q)
    return ops::lgp_cross_entropy(h.flatten(0, 1), weight, *scale, targets.flatten(), lgp_q);
  return ops::linear_cross_entropy(h.flatten(0, 1), weight, scale, targets.flatten());
}

std::vector<ParameterGroup> groups_without_constraint(torch::nn::Module& module) {
  std::vector<ParameterGroup> groups;
  for (const auto& item : module.named_parameters()) {
    const std::string& name = item.key();
    const bool embedding = is_named(name, "embed.weight") || is_named(name, "head.weight");
    const bool other_table = is_named(name, "pos.weight") || is_named(name, "router.weight");
    groups.push_back({.name = name,
                      .tensor = item.value(),
                      .decay = item.value().dim() >= 2,
                      .embedding = embedding,
                      .hidden_matrix = item.value().dim() == 2 && is_named(name, "weight") &&
                                       !embedding && !other_table});
  }
  return groups;
}

bool is_named(const std::string& name, const std::string& leaf) {
  return name == leaf || name.ends_with("." + leaf);
}

bool writes_residual(const std::string& name) {
  return is_named(name, "attn.o.weight") || is_named(name, "mlp.down.weight");
}

}  // namespace normbench
