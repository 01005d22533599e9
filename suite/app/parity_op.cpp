// Golden files of single operators. Errors are relative to each row: their rows differ by decades.
#include <torch/torch.h>

#include <map>
#include <optional>

#include "models/norms.h"
#include "optim/angular_cap.h"
#include "suite/app/parity_case.h"
#include "suite/base/names.h"
#include "suite/ops/lerp.h"
#include "suite/ops/linear.h"
#include "suite/ops/logit_gradient.h"
#include "suite/ops/norm.h"
#include "suite/ops/parameter_group.h"
#include "suite/ops/rope.h"

namespace normbench {

namespace {

torch::Tensor leaf(ParityCase& golden, const std::string& name) {
  return golden.input(name).requires_grad_();
}

torch::Tensor gradient(const torch::Tensor& y, const torch::Tensor& cotangent,
                       const torch::Tensor& x) {
  return torch::autograd::grad({(y * cotangent).sum()}, {x}, {}, /*retain_graph=*/true)[0];
}

/// The alpha that is used: stored * init / scale, its magnitude when alpha_abs.
torch::Tensor used_alpha(const JsonObject& config, const torch::Tensor& stored) {
  const auto used =
      stored * (config.required<double>("alpha_init") / config.required<double>("alpha_scale"));
  return config.required<bool>("alpha_abs") ? used.abs() : used;
}

/// Both residual updates have the same tensors.
template <class Update>
void check_lerp(ParityCase& golden, const JsonObject& config, Update update) {
  const auto h = leaf(golden, "input.h"), branch = leaf(golden, "input.branch"),
             alpha = leaf(golden, "param.alpha");
  const auto y = update(h, branch, used_alpha(config, alpha));
  const auto cotangent = golden.input("input.cotangent");
  golden.expect("out.y", y, ParityScale::kRow);
  golden.expect("grad.h", gradient(y, cotangent, h), ParityScale::kRow);
  golden.expect("grad.branch", gradient(y, cotangent, branch), ParityScale::kRow);
  golden.expect("grad.alpha", gradient(y, cotangent, alpha));
  require_value(config, "d_model", h.size(-1));
  for (const char* word : {"seed", "y", "grads"}) config.ignore(word);
}

void check_ngpt_lerp(ParityCase& golden, const JsonObject& config) {
  require_value(config, "norm_eps", 0.0);
  check_lerp(golden, config, [](const auto& h, const auto& branch, const auto& alpha) {
    return ops::lerp_normalize(h, branch, alpha, ops::LerpInputs::kNormalizeBoth);
  });
}

void check_angpt_lerp(ParityCase& golden, const JsonObject& config) {
  const auto name = config.required<std::string>("nu_alpha");
  if (name != "elementwise" && name != "scalar")
    config.fail("nu_alpha", "unknown", name, "elementwise or scalar");
  const auto nu = name == "scalar" ? ops::NuAlpha::kScalar : ops::NuAlpha::kElementwise;
  check_lerp(golden, config, [&](const auto& h, const auto& branch, const auto& alpha) {
    return ops::scaled_lerp(h, branch, alpha, /*normalize_branch=*/false, nu);
  });
}

void check_norms(ParityCase& golden, const JsonObject& config) {
  require_value(config, "norm_eps", 0.0);
  const auto x = leaf(golden, "input.x"), gain = leaf(golden, "param.gain"),
             cotangent = golden.input("input.cotangent");
  const auto l2 = ops::l2_norm(x), rms = ops::rms_norm(x, gain, config.required<double>("rms_eps"));
  require_value(config, "d_model", x.size(-1));
  golden.expect("out.l2", l2, ParityScale::kRow);
  golden.expect("grad.l2.x", gradient(l2, cotangent, x), ParityScale::kRow);
  golden.expect("out.rms", rms, ParityScale::kRow);
  golden.expect("grad.rms.x", gradient(rms, cotangent, x), ParityScale::kRow);
  golden.expect("grad.rms.gain", gradient(rms, cotangent, gain));
  for (const char* word : {"seed", "l2", "rms", "row_scales", "grads"}) config.ignore(word);
}

using Parameters = std::map<std::string, torch::Tensor>;

/// y = f(x, parameters), the loss sum(y * cotangent) and every gradient.
template <class Function>
void check_function(ParityCase& golden, const JsonObject& config,
                    const std::vector<std::string>& names, Function f) {
  const auto x = leaf(golden, "input.x"), cotangent = golden.input("input.cotangent");
  Parameters parameters;
  for (const auto& name : names) parameters[name] = leaf(golden, "param." + name);
  const torch::Tensor y = f(x, parameters);
  golden.expect("out.y", y, ParityScale::kRow);
  golden.expect("out.loss", (y * cotangent).sum());
  golden.expect("grad.x", gradient(y, cotangent, x), ParityScale::kRow);
  for (const auto& [name, tensor] : parameters)
    golden.expect("grad." + name, gradient(y, cotangent, tensor));
  require_value(config, "shape", x.sizes().vec());
  require_value<std::string>(config, "loss", "sum(out.y * input.cotangent)");
  for (const char* word : {"large_row", "tiny_row"}) config.ignore(word);
}

void check_rmsnorm(ParityCase& golden, const JsonObject& config) {
  const double eps = config.required<double>("eps");
  check_function(golden, config, {"weight"}, [&](const torch::Tensor& x, const Parameters& p) {
    return ops::rms_norm(x, p.at("weight"), eps);
  });
}

void check_layernorm(ParityCase& golden, const JsonObject& config) {
  const double eps = config.required<double>("eps");
  check_function(golden, config, {"weight", "bias"},
                 [&](const torch::Tensor& x, const Parameters& p) {
                   return layer_norm(x, p.at("weight"), p.at("bias"), eps);
                 });
}

void check_simplenorm(ParityCase& golden, const JsonObject& config) {
  const double eps = config.required<double>("eps");
  check_function(golden, config, {"weight", "norm.weight"},
                 [&](const torch::Tensor& x, const Parameters& p) {
                   const auto& w = p.at("weight");
                   require_value(config, "d_out", w.size(0));
                   require_value(config, "d_in", w.size(1));
                   return ops::rms_norm(ops::linear(x, w), p.at("norm.weight"), eps);
                 });
}

void check_l2norm(ParityCase& golden, const JsonObject& config) {
  const double eps = config.required<double>("eps");
  const auto formula = config.required<std::string>("formula");
  const std::pair<const char*, L2Eps> known[] = {{"x / max(||x||_2, eps)", L2Eps::kClamp},
                                                 {"x * rsqrt(sum(x^2) + eps)", L2Eps::kSum},
                                                 {"x / (||x||_2 + eps)", L2Eps::kAdd}};
  for (const auto& form : known) {
    if (formula != form.first) continue;
    return check_function(golden, config, {}, [&](const torch::Tensor& x, const Parameters&) {
      return l2_norm(x, eps, form.second);
    });
  }
  config.fail("formula", "parity does not know this", formula, known[0].first);
}

void check_dyt(ParityCase& golden, const JsonObject& config) {
  require_value<std::string>(config, "formula", "weight * tanh(alpha*x) + bias");
  check_function(golden, config, {"alpha", "weight", "bias"},
                 [](const torch::Tensor& x, const Parameters& p) {
                   return dyt(x, p.at("alpha"), p.at("weight"), p.at("bias"));
                 });
}

void check_derf(ParityCase& golden, const JsonObject& config) {
  require_value<std::string>(config, "formula", "weight * erf(alpha*x + shift) + bias");
  check_function(golden, config, {"alpha", "shift", "weight", "bias"},
                 [](const torch::Tensor& x, const Parameters& p) {
                   return derf(x, p.at("alpha"), p.at("shift"), p.at("weight"), p.at("bias"));
                 });
}

void check_weight_constraint(ParityCase& golden, const JsonObject& config) {
  const auto constrained = [](const torch::Tensor& w, RowConstraint constraint, int64_t axis) {
    ParameterGroup group{.name = "W", .tensor = w.clone(), .constraint = constraint, .axis = axis};
    constrain_(group);
    return group.tensor;
  };
  // The reference divides 0 by 0 in a vector of zeros, where ours stays zero: its NaN is read as 0,
  // but only there.
  const auto expect_zero_for_nan = [&](const std::string& name, const torch::Tensor& w,
                                       int64_t axis) {
    const auto theirs = golden.tensor(name);
    const auto is_zero = (w == 0).all(axis, /*keepdim=*/true).expand_as(theirs);
    const auto repaired = torch::where(is_zero & theirs.isnan(), torch::zeros_like(theirs), theirs);
    golden.expect_values(name, constrained(w, RowConstraint::kUnit, axis), repaired);
  };
  const auto w = golden.input("input.W"), w0 = golden.input("input.W0");
  expect_zero_for_nan("out.l2_dim1", w, 1);
  expect_zero_for_nan("out.l2_dim0", w0, 0);
  golden.expect("out.l2_dim1_safe", constrained(w, RowConstraint::kUnit, 1), ParityScale::kRow);
  golden.expect("out.clamp_dim1", constrained(w, RowConstraint::kBound, 1), ParityScale::kRow);
  golden.expect("out.row_norms", w.norm(2, {1}));
  for (const char* word : {"seed", "zero_row", "unit_row", "zero_column_of_W0", "l2_dim1",
                           "l2_dim0", "l2_dim1_safe", "clamp_dim1", "row_norms"})
    config.ignore(word);
}

/// One pairing at given positions; x is [B, T, H, Dh].
void check_rope_positions(ParityCase& golden, const JsonObject& config) {
  const auto name = config.required<std::string>("rope");
  if (name != "half" && name != "interleaved")
    config.fail("rope", "unknown", name, "half or interleaved");
  require_value<std::string>(config, "layout", "[B,T,H,d_head]");
  const auto x = leaf(golden, "input.x"), cotangent = golden.input("input.cotangent");
  const auto positions = golden.input("input.positions");
  auto table = ops::rope_table(
      positions.max().item<int64_t>() + 1, config.required<int64_t>("d_head"),
      config.required<double>("rope_base"),
      name == "half" ? ops::RopePairs::kHalf : ops::RopePairs::kInterleaved, torch::kDouble);
  table.cos = table.cos.index_select(0, positions);
  table.sin = table.sin.index_select(0, positions);
  const auto y = ops::rope(x, table);
  golden.expect("out.y", y, ParityScale::kRow);
  golden.expect("out.loss", (y * cotangent).sum());
  golden.expect("grad.x", gradient(y, cotangent, x), ParityScale::kRow);
  for (const char* word : {"formula", "pairs", "loss"}) config.ignore(word);
}

/// Every pairing, whole and partial, at positions 0..T-1; the file's x is [B, H, T, Dh].
void check_rope_pairings(ParityCase& golden, const JsonObject& config) {
  require_value<std::string>(config, "layout", "x [B,H,T,d_head]");
  require_value<int64_t>(config, "first_position", 0);
  const auto width = config.required<int64_t>("d_head"),
             part = config.required<int64_t>("rotary_dim_partial");
  const auto base = config.required<double>("rope_base");
  const auto x = leaf(golden, "input.x"), cotangent = golden.input("input.cotangent");
  const auto check = [&](const std::string& name, ops::RopePairs pairs, int64_t rotary_width) {
    const auto table = ops::rope_table(x.size(2), rotary_width, base, pairs, torch::kDouble);
    const auto y = ops::rope(x.transpose(1, 2), table).transpose(1, 2);
    golden.expect("out." + name, y, ParityScale::kRow);
    golden.expect("grad." + name + ".x", gradient(y, cotangent, x), ParityScale::kRow);
  };
  check("half", ops::RopePairs::kHalf, width);
  check("half_partial", ops::RopePairs::kHalf, part);
  check("interleaved", ops::RopePairs::kInterleaved, width);
  check("interleaved_partial", ops::RopePairs::kInterleaved, part);
  check("published", ops::RopePairs::kPublished, width);
  for (const char* word : {"seed", "interleaved", "half", "half_partial", "published"})
    config.ignore(word);
}

void check_rope(ParityCase& golden, const JsonObject& config) {
  config.has("rope") ? check_rope_positions(golden, config) : check_rope_pairings(golden, config);
}

/// The angular cap on rows and on columns; the weight constraint normalises what it leaves.
void check_asc(ParityCase& golden, const JsonObject& config) {
  const double theta_max = config.required<double>("theta_max");
  for (const auto& [name, axis] : {std::pair("rows", 1), std::pair("cols", 0)}) {
    ParameterGroup group{.name = name,
                         .tensor = golden.input(std::string("input.candidate.") + name),
                         .constraint = RowConstraint::kUnit,
                         .axis = axis};
    const auto vectors =
        angular_cap_(group.tensor, golden.input(std::string("input.w.") + name), axis, theta_max);
    constrain_(group);
    golden.expect(std::string("out.w.") + name, group.tensor);
    golden.expect(std::string("out.phi.") + name, vectors.phi);
    golden.expect(std::string("out.capped.") + name, vectors.capped);
  }
  for (const char* word :
       {"n", "rule", "degenerate_row", "capped_includes_degenerate", "kind", "grads_of"})
    config.ignore(word);
}

void check_lgp(ParityCase& golden, const JsonObject& config) {
  std::optional<double> q;
  if (config.raw("q").is_string())
    require_value<std::string>(config, "q", "off");
  else
    q = config.required<double>("q");
  const auto h = leaf(golden, "input.h"), weight = leaf(golden, "param.head.weight"),
             stored = leaf(golden, "param.head.scale");
  const auto s =
      stored * (config.required<double>("s_z_init") / config.required<double>("s_z_scale"));
  golden.expect_number("config.mean_s_z", s.mean().item<double>(),
                       config.required<double>("mean_s_z"));
  const auto loss = ops::lgp_cross_entropy(h.flatten(0, 1), weight, s,
                                           golden.input("input.targets").flatten(), q);
  golden.expect("out.loss", loss);
  const auto u = ops::linear(h, weight);
  golden.expect("out.logits", q ? ops::lgp_logits(u, s, *q) : s * u);
  loss.backward();
  golden.expect("grad.h", h.grad());
  golden.expect("grad.head.weight", weight.grad());
  golden.expect("grad.head.scale", stored.grad());
  for (const char* word : {"d_model", "vocab", "batch", "T", "rule", "kind", "grads_of"})
    config.ignore(word);
}

struct Op {
  const char* name;
  void (*check)(ParityCase& golden, const JsonObject& config);
};
constexpr Op kOps[] = {{"angpt_lerp", check_angpt_lerp},
                       {"asc", check_asc},
                       {"causal_conv1d_silu", check_conv_parity},
                       {"derf", check_derf},
                       {"dyt", check_dyt},
                       {"hessian_linear", check_layer_hessian},
                       {"hessian_simplenorm", check_layer_hessian},
                       {"l2norm", check_l2norm},
                       {"layernorm", check_layernorm},
                       {"lgp", check_lgp},
                       {"moe_balance", check_balance_parity},
                       {"ngpt_lerp", check_ngpt_lerp},
                       {"norms", check_norms},
                       {"rmsnorm", check_rmsnorm},
                       {"rope", check_rope},
                       {"simplenorm", check_simplenorm},
                       {"ssd", check_ssd_parity},
                       {"weight_constraint", check_weight_constraint}};

}  // namespace

std::string check_op_parity(ParityCase& golden) {
  const auto config = golden.config();
  const auto name = config.required<std::string>("op");
  std::vector<std::string> known;
  for (const auto& op : kOps) {
    if (name == op.name) {
      op.check(golden, config);
      config.finish();
      return "op " + name;
    }
    known.emplace_back(op.name);
  }
  config.fail("op", "parity does not know this operator", "\"" + name + "\"", one_of(known),
              did_you_mean(name, known));
}

}  // namespace normbench
