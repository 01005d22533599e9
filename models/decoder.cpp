#include "models/decoder.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "suite/base/names.h"
#include "suite/ops/attention.h"
#include "suite/ops/initialize.h"
#include "suite/ops/linear.h"
#include "suite/ops/norm.h"
#include "suite/ops/swiglu.h"

namespace normbench {

namespace {

void check_options(const ModelSize& size, const DecoderOptions& options) {
  const int64_t kv = options.attention.num_kv_heads;
  if (kv < 0 || (kv > 0 && size.num_heads % kv != 0))
    throw UserError(
        {.what = "heads of keys and values cannot be shared evenly",
         .where = "num_kv_heads",
         .found = std::to_string(kv) + " for " + std::to_string(size.num_heads) + " heads",
         .expected = "a divisor of the number of heads, or 0 for as many"});
  if (options.attention.qk_norm == "l2")
    check_unused("attention_scale", options.attention.attention_scale, 0,
                 "qk_norm is another than l2");
  if (!options.rope) {
    const AttentionOptions unused;
    check_unused("rope_fraction", options.attention.rope_fraction, unused.rope_fraction,
                 "rope is true");
    check_unused("rope_base", options.attention.rope_base, unused.rope_base, "rope is true");
  }
  std::vector<std::string> known = {"q", "k", "v", "o", "up", "down"};
  if (options.gated_mlp) known.push_back("gate");
  for (const auto& name : options.norm_after) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UserError({.what = "no matrix of a block has this name",
                     .where = "norm_after",
                     .found = "\"" + name + "\"",
                     .expected = options.gated_mlp ? "names among q, k, v, o, gate, up, down"
                                                   : "names among q, k, v, o, up, down"});
  }
  for (const std::string name : {"q", "k"})
    check_option("norm_after", options.norm_after,
                 options.attention.qk_norm != "full" || !is_one_of(name, options.norm_after),
                 "no " + name + " beside qk_norm full, which norms all of it as well");
}

}  // namespace

void check_norm_options(const std::string& norm, const std::string& qk_norm, double eps,
                        double eps_default, double alpha, double alpha_default) {
  const bool pointwise = norm == "dyt" || norm == "derf";
  if (pointwise && qk_norm != "full" && qk_norm != "head")
    check_unused("norm_eps", eps, eps_default, "norm is rmsnorm or layernorm");
  if (!pointwise) check_unused("alpha_init", alpha, alpha_default, "norm is dyt or derf");
}

void check_any_norm(bool pre_norm, const std::vector<std::string>& norm_after) {
  check_option("norm_after", norm_after, pre_norm || !norm_after.empty(),
               "a matrix at least, unless pre_norm is true: a block would have no norm");
}

ProjectionImpl::ProjectionImpl(int64_t in, int64_t out, const DecoderOptions& options,
                               const std::string& name) {
  weight = register_parameter("weight", new_parameter({out, in}));
  if (options.bias) bias = register_parameter("bias", new_parameter({out}));
  const auto& after = options.norm_after;
  if (std::find(after.begin(), after.end(), name) != after.end())
    norm = register_module("norm", Norm(out, options.norm));
}

torch::Tensor ProjectionImpl::forward(const torch::Tensor& x) {
  return finish(ops::linear(x, weight));
}

torch::Tensor ProjectionImpl::finish(torch::Tensor y) {
  if (bias.defined()) y = y + bias.to(y.scalar_type());
  return norm.is_empty() ? y : norm->forward(y);
}

AttentionImpl::AttentionImpl(const ModelSize& size, const DecoderOptions& options,
                             std::shared_ptr<Rope> shared_rope)
    : num_heads(size.num_heads),
      num_kv_heads(options.attention.num_kv_heads ? options.attention.num_kv_heads
                                                  : size.num_heads),
      scale(options.attention.attention_scale
                ? options.attention.attention_scale
                : 1 / std::sqrt(static_cast<double>(size.head_width))),
      qk_norm(options.attention.qk_norm),
      rope(std::move(shared_rope)) {
  const int64_t inner = num_heads * size.head_width, kv_inner = num_kv_heads * size.head_width;
  if (options.sublayer_norm) norm = register_module("norm", Norm(size.width, options.norm));
  q = register_module("q", Projection(size.width, inner, options, "q"));
  k = register_module("k", Projection(size.width, kv_inner, options, "k"));
  v = register_module("v", Projection(size.width, kv_inner, options, "v"));
  if (qk_norm == "full" || qk_norm == "head") {
    const NormOptions rms = {.norm = "rmsnorm", .eps = options.norm.eps, .bias = false};
    const bool full = qk_norm == "full";
    q_norm = register_module("q_norm", Norm(full ? inner : size.head_width, rms));
    k_norm = register_module("k_norm", Norm(full ? kv_inner : size.head_width, rms));
  }
  if (qk_norm == "l2") {
    g = register_parameter("g", new_parameter({1}));
    scale = 1;
  }
  o = register_module("o", Projection(inner, size.width, options, "o"));
}

torch::Tensor AttentionImpl::normalized_heads(const torch::Tensor& x, int64_t heads,
                                              Norm& norm_of_heads) {
  if (qk_norm == "full") return split_heads(norm_of_heads->forward(x), heads);
  const auto split = split_heads(x, heads);  // [B, T, H or K, Dh]
  if (qk_norm == "head") return norm_of_heads->forward(split);
  return qk_norm == "l2" ? ops::l2_norm(split) : split;
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& x) {
  const auto qkv = ops::linear_many(x, {q->weight, k->weight, v->weight});
  auto query = normalized_heads(q->finish(qkv[0]), num_heads, q_norm);   // [B, T, H, Dh]
  auto key = normalized_heads(k->finish(qkv[1]), num_kv_heads, k_norm);  // [B, T, K, Dh]
  const auto value = split_heads(v->finish(qkv[2]), num_kv_heads);
  if (g.defined()) query = query * g.to(query.scalar_type());  // g (q k^T) = (g q) k^T
  if (rope) {
    query = (*rope)(query);
    key = (*rope)(key);
  }
  return o->forward(merge_heads(ops::causal_attention(query, key, value, scale)));
}

MlpImpl::MlpImpl(const ModelSize& size, const DecoderOptions& options) {
  if (options.sublayer_norm) norm = register_module("norm", Norm(size.width, options.norm));
  if (options.gated_mlp)
    gate = register_module("gate", Projection(size.width, size.mlp_width, options, "gate"));
  up = register_module("up", Projection(size.width, size.mlp_width, options, "up"));
  down = register_module("down", Projection(size.mlp_width, size.width, options, "down"));
}

torch::Tensor MlpImpl::forward(const torch::Tensor& x) {
  if (gate.is_empty()) return down->forward(torch::gelu(up->forward(x), "none"));
  const auto halves = ops::linear_many(x, {gate->weight, up->weight});  // [B, T, F] each
  return down->forward(ops::swiglu(gate->finish(halves[0]), up->finish(halves[1])));
}

Decoder::BlockImpl::BlockImpl(const ModelSize& size, const DecoderOptions& options,
                              std::shared_ptr<Rope> rope)
    : attn(register_module("attn", Attention(size, options, std::move(rope)))),
      mlp(register_module("mlp", Mlp(size, options))) {}

Decoder::Decoder(const ModelSize& size, const DecoderOptions& options)
    : size_(size), options_(options) {
  check_options(size, options);
  const auto& a = options.attention;
  const auto rope = options.rope
                        ? std::make_shared<Rope>(size, a.rope_fraction, a.rope_base, a.rope_pairs)
                        : nullptr;
  embed_ = register_module("embed", Weight(at::IntArrayRef{size.vocabulary, size.width}));
  if (options.embed_scale) embed_scale_ = embed_->register_parameter("scale", new_parameter({1}));
  if (options.learned_positions)
    pos_ = register_module("pos", Weight(at::IntArrayRef{size.context, size.width}));
  const auto list = register_module("blocks", torch::nn::ModuleList());
  for (int64_t i = 0; i < size.num_layers; ++i) {
    blocks_.emplace_back(size, options, rope);
    list->push_back(blocks_.back());
  }
  if (options.final_norm)
    final_norm_ = register_module("final_norm", Norm(size.width, options.norm));
  if (!options.tied_embeddings)
    head_ = register_module("head", Weight(at::IntArrayRef{size.vocabulary, size.width}));
}

const torch::Tensor& Decoder::head_weight() const {
  return options_.tied_embeddings ? embed_->weight : head_->weight;
}

torch::Tensor Decoder::embedded(const torch::Tensor& tokens) {
  auto h = embed_tokens(embed_->weight, tokens, compute_type());
  if (options_.learned_positions) {
    TORCH_CHECK(tokens.size(1) <= size_.context, "positions: ", tokens.size(1),
                " tokens, but the context is ", size_.context);
    h = h + pos_->weight.narrow(0, 0, tokens.size(1)).to(h.scalar_type());
  }
  return options_.embed_scale ? h * embed_scale_.to(h.scalar_type()) : h;
}

torch::Tensor Decoder::through(int64_t first, int64_t last, torch::Tensor h,
                               std::vector<torch::Tensor>* hidden) {
  for (int64_t i = first; i < last; ++i) {
    auto& b = blocks_[static_cast<size_t>(i)];
    h = block(i, *b->attn, *b->mlp, h);
    if (hidden) hidden->push_back(h);
  }
  return h;
}

torch::Tensor Decoder::final_state(const torch::Tensor& h) {
  return options_.final_norm ? final_norm_->forward(h) : h;
}

torch::Tensor Decoder::logits(const torch::Tensor& tokens, std::vector<torch::Tensor>* hidden) {
  const auto h = through(0, size_.num_layers, embedded(tokens), hidden);
  return head_logits(final_state(h), head_weight());
}

torch::Tensor Decoder::loss(const torch::Tensor& tokens, const torch::Tensor& targets) {
  return loss_from(0, embedded(tokens), targets);
}

torch::Tensor Decoder::stream_into(int64_t layer, const torch::Tensor& tokens) {
  TORCH_CHECK(layer >= 0 && layer < size_.num_layers, "stream_into: block ", layer, " of ",
              size_.num_layers);
  return through(0, layer, embedded(tokens));
}

torch::Tensor Decoder::loss_from(int64_t first, const torch::Tensor& h,
                                 const torch::Tensor& targets) {
  TORCH_CHECK(first >= 0 && first < size_.num_layers, "loss_from: block ", first, " of ",
              size_.num_layers);
  const auto last = through(first, size_.num_layers, h);
  return head_loss(final_state(last), head_weight(), std::nullopt, targets);
}

std::vector<ParameterGroup> Decoder::parameter_groups() {
  auto groups = groups_without_constraint(*this);
  for (auto& group : groups) group.decay = group.decay || options_.decay_all;
  return groups;
}

void Decoder::fill_(uint64_t seed,
                    const std::function<double(const std::string&, const torch::Tensor&)>& std) {
  torch::NoGradGuard no_grad;
  for (auto& item : named_parameters()) {
    const auto& name = item.key();
    auto& w = item.value();
    if (w.dim() == 2)
      ops::fill_normal_(w, std(name, w), seed, name);
    else if (is_named(name, "bias") || is_named(name, "shift"))
      w.zero_();
    else
      w.fill_(is_named(name, "g") ? std::sqrt(static_cast<double>(size_.head_width)) : 1.0);
  }
}

void Decoder::fill_torchtitan_(uint64_t seed) {
  fill_(seed, [&](const std::string& name, const torch::Tensor&) {
    const int64_t layer = layer_of(name);
    if (layer < 0) return 1.0;
    const bool by_depth = writes_residual(name) || is_named(name, "mlp.up.weight");
    return by_depth ? 0.02 / std::sqrt(2.0 * static_cast<double>(layer + 1)) : 0.02;
  });
  if (!head_.is_empty())
    fill_truncated_normal_(head_->weight, 1 / std::sqrt(static_cast<double>(size_.width)),
                           /*cut=*/3, seed, "head.weight");
}

void Decoder::fill_scalars_(const std::string& leaf, double value) {
  torch::NoGradGuard no_grad;
  for (auto& item : named_parameters())
    if (is_named(item.key(), leaf)) item.value().fill_(value);
}

double init_std(const std::string& init, int64_t width) {
  return init == "literal" ? 0.02 : 0.64 / std::sqrt(static_cast<double>(width));
}

int64_t layer_of(const std::string& name) {
  const std::string prefix = "blocks.";
  return name.starts_with(prefix) ? std::stoll(name.substr(prefix.size())) : -1;
}

void fill_truncated_normal_(torch::Tensor w, double std, double cut, uint64_t seed,
                            const std::string& name) {
  torch::NoGradGuard no_grad;
  ops::fill_normal_(w, std, seed, name);
  for (int64_t round = 1;; ++round) {
    const auto beyond = w.abs() > cut * std;
    if (!beyond.any().item<bool>()) return;
    auto again = torch::empty_like(w);
    ops::fill_normal_(again, std, seed, name + "#" + std::to_string(round));
    w.copy_(torch::where(beyond, again, w));
  }
}

}  // namespace normbench
