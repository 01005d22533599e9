#include "models/moe.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "models/norms.h"
#include "suite/ops/linear.h"
#include "suite/ops/reference.h"
#include "suite/ops/swiglu.h"

namespace normbench {

using ops::reference::widen;

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// y_i = x[from_i], where each row of x is taken `copies` times: back[copies * n ...] are the places
// of row n. The gradient is then a gather and a sum of neighbours too, with no scattered additions.
struct TakeRows : torch::autograd::Function<TakeRows> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x,
                               const torch::Tensor& from, const torch::Tensor& back,
                               int64_t copies) {
    ctx->saved_data["copies"] = copies;
    ctx->save_for_backward({back});
    return x.index_select(0, from);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t copies = ctx->saved_data["copies"].toInt();
    auto dx = grads[0].index_select(0, ctx->get_saved_variables()[0]);
    if (copies > 1) dx = dx.unflatten(0, {-1, copies}).sum(1);
    return {dx, {}, {}, {}};
  }
};

}  // namespace

void MoeOptions::resolve(int64_t width) {
  check_limits(*this, "the experts");
  check_option("top_k", top_k, top_k <= num_experts,
               "at most num_experts, " + std::to_string(num_experts));
  if (expert_width == 0)
    expert_width = std::max<int64_t>(16, 16 * std::llround(0.69 * static_cast<double>(width) / 16));
  if (shared_width == 0) shared_width = 2 * expert_width;
}

HiddenScales HiddenScales::make(torch::nn::Module& owner, int64_t hidden_width,
                                const MoeForm& form) {
  HiddenScales scales;
  if (form.hidden_scale == 0) return scales;
  if (form.activation == "swiglu")
    scales.gate = owner.register_parameter("scale_gate", new_parameter({hidden_width}));
  scales.up = owner.register_parameter("scale_up", new_parameter({hidden_width}));
  return scales;
}

FeedForwardImpl::FeedForwardImpl(int64_t width, int64_t hidden_width, const MoeForm& moe_form,
                                 bool own_scale)
    : form(moe_form) {
  if (form.activation == "swiglu")
    gate = register_module("gate", Weight(at::IntArrayRef{hidden_width, width}));
  up = register_module("up", Weight(at::IntArrayRef{hidden_width, width}));
  if (own_scale) scales = HiddenScales::make(*this, hidden_width, form);
  down = register_module("down", Weight(at::IntArrayRef{width, hidden_width}));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x, const HiddenScales& of_the_layer) {
  const auto scaled = [this](const torch::Tensor& y, const torch::Tensor& stored, double factor) {
    if (stored.defined()) return y * (stored * (form.hidden_scale * factor)).to(y.scalar_type());
    return factor == 1 ? y : y * factor;
  };
  torch::Tensor hidden;
  if (gate.is_empty()) {
    hidden = scaled(ops::linear(x, up->weight), of_the_layer.up, 1).relu().square();
  } else {
    const auto halves = ops::linear_many(x, {gate->weight, up->weight});
    hidden = ops::swiglu(scaled(halves[0], of_the_layer.gate, form.gate_factor),
                         scaled(halves[1], of_the_layer.up, 1));
  }
  if (form.hidden_norm) hidden = l2_norm(hidden, form.norm_eps, L2Eps::kSum);
  return ops::linear(hidden, down->weight);
}

RouterImpl::RouterImpl(int64_t width, int64_t num_experts)
    : weight(register_parameter("weight", new_parameter({num_experts, width}))),
      bias(register_buffer("bias", new_parameter({num_experts}))),
      counts(register_buffer("counts", new_parameter({num_experts}))) {}

torch::Tensor select_experts(const torch::Tensor& scores, int64_t k) {
  const auto order =
      std::get<1>(scores.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  return std::get<0>(order.narrow(-1, 0, k).sort(-1));
}

torch::Tensor expert_counts(const torch::Tensor& ids, const torch::Tensor& like) {
  return ids.flatten().bincount({}, like.size(-1)).to(like.options());
}

torch::Tensor updated_bias(const torch::Tensor& bias, const torch::Tensor& counts, double rate) {
  return bias + rate * (counts.mean() - counts).sign();
}

torch::Tensor sequence_balance(const torch::Tensor& scores, const torch::Tensor& ids) {
  const auto num_experts = scores.size(2), tokens = scores.size(1), k = ids.size(2);
  const auto selected = torch::zeros_like(scores).scatter_(-1, ids, 1).sum(1);  // [B, E]
  const auto f = selected * (static_cast<double>(num_experts) / static_cast<double>(k * tokens));
  const auto P = (scores / (scores.sum(-1, /*keepdim=*/true) + 1e-20)).mean(1);  // [B, E]
  return (f * P).sum(-1);
}

MoeImpl::MoeImpl(int64_t width, const MoeOptions& moe_options, const MoeForm& moe_form)
    : options(moe_options), form(moe_form) {
  router = register_module("router", Router(width, options.num_experts));
  if (form.router_scale != 0) router_scale = register_parameter("router_scale", new_parameter({}));
  const auto list = register_module("experts", torch::nn::ModuleList());
  for (int64_t e = 0; e < options.num_experts; ++e) {
    experts.emplace_back(width, options.expert_width, form, /*own_scale=*/false);
    list->push_back(experts.back());
  }
  scales = HiddenScales::make(*this, options.expert_width, form);
  shared =
      register_module("shared", FeedForward(width, options.shared_width, form, /*own_scale=*/true));
}

torch::Tensor MoeImpl::s_moe() const {
  return router_scale.defined() ? router_scale * form.router_scale : torch::Tensor();
}

Routing MoeImpl::route(const torch::Tensor& x) const {
  const auto s = s_moe();
  const auto wide = widen(x);
  Routing r;
  r.logits = ops::linear(s.defined() ? wide * s : wide, router->weight);  // (1)
  r.scores = r.logits.sigmoid();
  r.ids = select_experts(r.scores + router->bias, options.top_k);  // (2)
  const auto p = r.scores.gather(-1, r.ids);
  const auto share = options.norm_topk_prob ? p / (p.sum(-1, /*keepdim=*/true) + 1e-20) : p;
  r.weights = share * options.routed_scaling_factor;
  return r;
}

torch::Tensor MoeImpl::forward(const torch::Tensor& x, torch::Tensor* balance) {
  const auto routing = route(x);
  if (balance) {
    const auto ids = select_experts(routing.scores, options.top_k);  // without bias, as Megatron
    const auto loss = options.balance_coefficient * sequence_balance(routing.scores, ids).mean();
    *balance = balance->defined() ? *balance + loss : loss;
    torch::NoGradGuard no_grad;
    router->counts += expert_counts(routing.ids, router->counts);
    // std() divides by E - 1.
    score_spread =
        options.num_experts == 1 ? torch::zeros_like(loss.detach()) : routing.scores.std(-1).mean();
  }
  return routed(x, routing) + shared->forward(x);  // (3)
}

torch::Tensor MoeImpl::routed(const torch::Tensor& x, const Routing& routing) {
  const int64_t k = options.top_k;
  const auto tokens = x.reshape({-1, x.size(-1)});  // [B T, D]
  const auto ids = routing.ids.flatten();           // [B T k]
  // Place i of the sorted rows is copy `order_i` of a token; copy j lies at place `back_j`.
  const auto order = std::get<1>(ids.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false));
  const auto back =
      torch::empty_like(order).scatter_(0, order, torch::arange(order.size(0), order.options()));
  const auto counts = ids.bincount({}, options.num_experts).cpu();
  const std::vector<int64_t> rows(counts.data_ptr<int64_t>(),
                                  counts.data_ptr<int64_t>() + counts.numel());
  const auto sorted = TakeRows::apply(tokens, order.div(k, "floor"), back, k);
  const auto parts = sorted.split_with_sizes(rows);
  std::vector<torch::Tensor> y;
  for (size_t e = 0; e < experts.size(); ++e) y.push_back(experts[e]->forward(parts[e], scales));
  const auto copies = TakeRows::apply(torch::cat(y), back, order, 1).unflatten(0, {-1, k});
  const auto weights = routing.weights.reshape({-1, k, 1}).to(x.scalar_type());
  return (copies * weights).sum(1).view_as(x);
}

void MoeImpl::update_bias_() {
  torch::NoGradGuard no_grad;
  const auto& counts = router->counts;
  const auto total = counts.sum();
  if (total.item<double>() == 0) return;
  router->bias.copy_(updated_bias(router->bias, counts, options.bias_rate));
  load = counts / total;
  counts.zero_();
}

void MoeImpl::reset_router_() {
  torch::NoGradGuard no_grad;
  router->bias.zero_();
  router->counts.zero_();
  load = score_spread = torch::Tensor();
}

}  // namespace normbench
