// Golden files of the hybrids' operators: the SSD recurrence, the causal convolution, and what
// balances experts.
#include <torch/torch.h>

#include "models/moe.h"
#include "suite/app/parity_case.h"
#include "suite/ops/reference.h"
#include "suite/ops/ssd.h"

namespace normbench {

namespace {

/// Compares the gradient of `loss` with respect to each of `leaves` with the file's.
void expect_gradients(ParityCase& golden, const torch::Tensor& loss,
                      const std::vector<std::pair<std::string, torch::Tensor>>& leaves) {
  std::vector<torch::Tensor> inputs;
  for (const auto& [name, leaf] : leaves) inputs.push_back(leaf);
  const auto grads = torch::autograd::grad({loss}, inputs, {}, /*retain_graph=*/true);
  for (size_t i = 0; i < leaves.size(); ++i) golden.expect("grad." + leaves[i].first, grads[i]);
}

}  // namespace

void check_ssd_parity(ParityCase& golden, const JsonObject& config) {
  std::vector<std::pair<std::string, torch::Tensor>> leaves;
  const auto read = [&](const std::string& name) -> torch::Tensor {
    if (!golden.has("input." + name)) return {};
    leaves.emplace_back(name, golden.input("input." + name).requires_grad_());
    return leaves.back().second;
  };
  const ops::SsdInput in = {.x = read("x"),
                            .dt = read("dt"),
                            .A = read("A"),
                            .B = read("B"),
                            .C = read("C"),
                            .D = read("D"),
                            .state = read("initial_state")};
  require_value(config, "D_included", in.D.defined());
  require_value(config, "batch", in.x.size(0));
  require_value(config, "T", in.x.size(1));
  require_value(config, "n_ssm_heads", in.x.size(2));
  require_value(config, "head_dim", in.x.size(3));
  require_value(config, "n_groups", in.B.size(2));
  require_value(config, "d_state", in.B.size(3));
  require_value<std::string>(config, "loss",
                             "sum(y*cotangent) + sum(final_state*cotangent_final_state)");
  const auto cotangent = golden.input("input.cotangent");
  const bool of_state = golden.has("input.cotangent_final_state");
  const auto check = [&](const ops::SsdResult& out) {
    auto loss = (out.y * cotangent).sum();
    if (of_state) loss = loss + (out.state * golden.input("input.cotangent_final_state")).sum();
    golden.expect("out.y", out.y);
    golden.expect("out.final_state", out.state);
    golden.expect("out.loss", loss);
    expect_gradients(golden, loss, leaves);
  };
  check(ops::reference::ssd(in));
  for (const auto chunk : config.required<std::vector<int64_t>>("chunk_sizes"))
    check(ops::ssd(in, chunk));
  for (const char* word : {"dt_is", "A_is", "agreement_chunks_vs_recurrence",
                           "mask_after_exp_gives", "kind", "grads_of"})
    config.ignore(word);
}

void check_conv_parity(ParityCase& golden, const JsonObject& config) {
  const auto x = golden.input("input.x").requires_grad_(),
             weight = golden.input("param.conv.weight").requires_grad_(),
             bias = golden.input("param.conv.bias").requires_grad_();
  require_value(config, "batch", x.size(0));
  require_value(config, "T", x.size(1));
  require_value(config, "channels", x.size(2));
  require_value(config, "kernel", weight.size(2));
  require_value<std::string>(config, "layout", "x is [B,T,C]; tap K-1 multiplies the current step");
  require_value<std::string>(config, "loss", "sum(y*cotangent)");
  const auto pre = ops::causal_conv(x, weight, bias), y = torch::silu(pre);
  const auto loss = (y * golden.input("input.cotangent")).sum();
  golden.expect("out.pre", pre);
  golden.expect("out.y", y);
  golden.expect("out.loss", loss);
  expect_gradients(golden, loss, {{"x", x}, {"conv.weight", weight}, {"conv.bias", bias}});
  for (const char* word : {"kind", "grads_of"}) config.ignore(word);
}

void check_balance_parity(ParityCase& golden, const JsonObject& config) {
  const auto logits = golden.input("input.router_logits").requires_grad_();
  const auto bias = golden.input("param.router.bias");
  const auto k = config.required<int64_t>("top_k");
  require_value(config, "batch", logits.size(0));
  require_value(config, "T", logits.size(1));
  require_value(config, "n_experts", logits.size(2));
  const double coefficient = config.required<double>("aux_coeff");
  const auto p = logits.sigmoid();
  const auto biased = select_experts(p + bias, k);
  const auto counts = expert_counts(biased, bias);
  golden.expect("out.counts", counts);
  golden.expect("out.bias_after",
                updated_bias(bias, counts, config.required<double>("bias_update_rate")));
  const auto check = [&](const torch::Tensor& ids, const std::string& suffix) {
    const auto each = coefficient * sequence_balance(p, ids);
    golden.expect("out.aux_per_sequence" + suffix, each);
    golden.expect("out.loss" + suffix, each.mean());
    expect_gradients(golden, each.mean(), {{"router_logits" + suffix, logits}});
  };
  check(select_experts(p, k), "");
  check(biased, "_biased_selection");
  for (const char* word : {"seed", "bias_rule", "aux_rule", "kind", "grads_of"})
    config.ignore(word);
}

}  // namespace normbench
