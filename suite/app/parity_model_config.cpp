// The config of a golden model file. Keys that change what is computed become options or are
// compared; keys that only explain it in words are listed in kWords.
#include <algorithm>
#include <cmath>

#include "models/angpt.h"
#include "optim/schedule.h"
#include "suite/app/parity_model.h"
#include "suite/base/names.h"

namespace normbench {

namespace {

/// Words about what other keys and the tensors already fix, and the seeds of numbers that the file
/// holds itself.
constexpr const char* kWords[] = {"seed",
                                  "norm",
                                  "qk_norm_def",
                                  "qk_scale_shape",
                                  "used_value",
                                  "block_input",
                                  "order",
                                  "param_state",
                                  "unconstrained_note",
                                  "steps_note",
                                  "g_parameterisation",
                                  "nu_alpha_def",
                                  "embedding",
                                  "constraint",
                                  "base_scale",
                                  "z",
                                  "folding"};

/// A sentence that changes the computation: one of those known, mapped to the option's value.
std::string meaning(const JsonObject& config, const std::string& key,
                    const std::vector<std::pair<std::string, std::string>>& known) {
  const auto found = config.required<std::string>(key);
  std::string all;
  for (const auto& [sentence, value] : known) {
    if (found == sentence) return value;
    all += (all.empty() ? "\"" : ", \"") + sentence + "\"";
  }
  config.fail(key, "parity does not know what this means", "\"" + found + "\"", "one of: " + all);
}

void read_size(const JsonObject& config, ParityModel& what) {
  what.size = {.num_layers = config.required<int64_t>("n_layers"),
               .width = config.required<int64_t>("d_model"),
               .num_heads = config.required<int64_t>("n_heads"),
               .head_width = config.required<int64_t>("d_head"),
               .mlp_width = config.required<int64_t>("d_ff"),
               .vocabulary = config.required<int64_t>("vocab"),
               .context = config.required<int64_t>("T")};
  what.batch = config.required<int64_t>("B");
  require_value<std::string>(config, "activation", "silu");
  require_value(config, "gated", true);
  require_value(config, "tied_embeddings", false);
  require_value(config, "biases", false);
  // 1e-12 under the root changes no file's numbers by 1e-10; anything larger is another function.
  if (config.optional<double>("norm_eps", 0) > 1e-12)
    config.fail("norm_eps", "the L2 norms of the models have no eps", config.raw("norm_eps").dump(),
                "0");
}

void read_rope(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  const auto rope = config.object("rope");
  const double fraction = static_cast<double>(rope.required<int64_t>("rotary_dim")) /
                          static_cast<double>(what.size.head_width);
  golden.expect_number("config.rope.fraction", fraction, rope.required<double>("fraction"));
  what.options["rope_fraction"] = fraction;
  what.options["rope_base"] = rope.required<double>("base");
  what.options["rope_pairs"] = meaning(
      rope, "convention",
      {{"half", "half"}, {"interleaved", "interleaved"}, {"published_nonrotation", "published"}});
  require_value<int64_t>(rope, "first_position", 0);
  require_value<std::string>(rope, "inv_freq", "base^(-2i/rotary_dim)");
  if (rope.has("applied_to"))
    meaning(rope, "applied_to", {{"q,k before the QK norm", ""}, {"q,k (no QK norm)", ""}});
  rope.ignore("published_formula");
  rope.ignore("deviation");
  rope.finish();
}

void read_rms(const JsonObject& config, ParityModel& what) {
  what.options["rms_eps"] = config.required<double>("rms_eps");
  meaning(config, "residual", {{"h + f(norm(h))", ""}});
  meaning(config, "final_norm", {{"RMSNorm with gain", ""}});
}

void expect_softmax_scale(ParityCase& golden, const JsonObject& config, const std::string& sentence,
                          double value) {
  meaning(config, "softmax_scale", {{sentence, ""}});
  if (config.has("softmax_scale_value"))
    golden.expect_number("config.softmax_scale_value", value,
                         config.required<double>("softmax_scale_value"));
}

void read_gain(const JsonObject& config, ParityModel& what) {
  what.options["g"] = meaning(config, "g", {{"per_layer", "per_layer"}, {"per_head", "per_head"}});
}

void read_scale(const JsonObject& config, ParityModel& what, const std::string& name) {
  for (const std::string part : {"_init", "_scale"})
    what.options[name + part] = config.required<double>(name + part);
}

void read_gpt_plus(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  read_rms(config, what);
  const bool qk_norm = config.required<bool>("qk_norm");
  what.options["qk_norm"] = qk_norm;
  if (qk_norm) {
    read_gain(config, what);
    expect_softmax_scale(golden, config, "g (learnable), no other factor", 1);
  } else {
    expect_softmax_scale(golden, config, "1/sqrt(d_head)",
                         1 / std::sqrt(static_cast<double>(what.size.head_width)));
  }
}

void read_llama_prenorm(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  read_rms(config, what);
  require_value<int64_t>(config, "use_nGPT", 0);
  require_value(config, "qk_norm", false);
  expect_softmax_scale(golden, config, "1/sqrt(d_head)",
                       1 / std::sqrt(static_cast<double>(what.size.head_width)));
}

void read_ngpt(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  for (const char* name : {"alpha", "sqk", "suv", "sz"}) read_scale(config, what, name);
  require_value<int64_t>(config, "use_nGPT", 1);
  if (config.has("qk_norm")) meaning(config, "qk_norm", {{"L2 per head after RoPE", ""}});
  what.options["alpha_abs"] = config.required<bool>("alpha_abs");
  what.options["qk_scale"] = config.optional<bool>("shared_qk_scale", true) ? "shared" : "separate";
  what.options["sqrt_d_on"] = meaning(
      config, "sqrt_d_on",
      {{"both up and gate (mlp scales used as stored*suv_init/suv_scale*sqrt(d_model))", "both"},
       {"gate only", "gate"}});
  what.options["residual_norm"] = meaning(
      config, "residual",
      {{"h = norm(A + |alpha|*(B - A)), A = norm(h), B = norm(branch)", "code"},
       {"h = norm(h + alpha*(branch - h)), branch = x/||x||; h itself is not normalised first",
        "none"}});
  meaning(config, "final_norm", {{"none", ""}});
  expect_softmax_scale(golden, config, "sqrt(d_head)",
                       std::sqrt(static_cast<double>(what.size.head_width)));
}

void read_angpt(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  for (const char* name : {"alpha", "sz"}) read_scale(config, what, name);
  read_gain(config, what);
  what.options["alpha_abs"] = config.required<bool>("alpha_abs");
  what.options["nu_alpha"] = config.required<std::string>("nu_alpha");
  what.options["silu_sqrt_d"] = config.required<bool>("silu_sqrt_d");
  what.options["nu_acf"] = config.required<double>("nu_acf");
  what.options["nu_p"] =
      meaning(config, "nu_p", {{"sqrt(h/d)", ""}, {"1", "1"}}).empty() ? 0.0 : 1.0;
  require_value<std::string>(config, "nu_qkv", "sqrt(d_model/d_head)");
  require_value<std::string>(config, "nu_uz", "sqrt(d_model/d_ff)");
  require_value<std::string>(config, "nu_d", "sqrt(d_ff/d_model)");
  meaning(config, "residual", {{"h = nu(alpha)*(h + alpha*(branch - h)), branch = x/||x||", ""}});
  meaning(config, "final_norm", {{"none", ""}});
  expect_softmax_scale(golden, config, "g (learnable), no other factor", 1);
  if (!config.has("nu_values")) return;
  auto ours = read_options<AngptOptions>(JsonObject(what.options, "config"));
  ours.resolve(what.size);
  const double sqrt_d = ours.silu_sqrt_d ? std::sqrt(static_cast<double>(what.size.width)) : 1;
  const auto theirs = config.object("nu_values");
  const auto compare = [&](const std::string& key, double value) {
    golden.expect_number("config.nu_values." + key, value, theirs.required<double>(key));
  };
  compare("qkv", ours.nu_qkv);
  compare("p", ours.nu_p);
  compare("up", ours.nu_u);
  compare("gate_including_sqrt_d", ours.nu_z * sqrt_d);
  compare("acf", ours.nu_acf);
  compare("d", ours.nu_d);
  theirs.finish();
}

/// The files' schedules count iterations from 0; ours at step t equals theirs at iteration t (t = 0
/// is the peak).
void compare_rates(ParityCase& golden, const JsonObject& schedule, const std::vector<double>& lr) {
  int64_t steps = 0;
  double peak = 0;
  Json options = Json::object();
  if (schedule.has("lr_decay_iters")) {  // train.py get_lr
    steps = schedule.required<int64_t>("lr_decay_iters");
    peak = schedule.required<double>("learning_rate");
    options["warmup_steps"] = schedule.required<int64_t>("warmup_iters");
    options["final_fraction"] = schedule.required<double>("min_lr") / peak;
    schedule.ignore("source");
  } else {
    steps = schedule.required<int64_t>("total_steps");
    peak = schedule.required<double>("peak");
    options["final_fraction"] = 0.01;
    meaning(schedule, "formula", {{"peak*(0.01+0.99*0.5*(1+cos(pi*i/total_steps)))", ""}});
    schedule.ignore("note");
  }
  schedule.finish();
  const auto ours = find_schedule("cosine").make(steps, peak, JsonObject(options, "config"));
  for (size_t i = 0; i < lr.size(); ++i)
    golden.expect_number("config.optimizer.lr." + std::to_string(i), ours(static_cast<int64_t>(i)),
                         lr[i]);
}

void read_optimizer(ParityCase& golden, const JsonObject& config, ParityModel& what) {
  const auto o = config.object("optimizer");
  what.has_optimizer = true;
  what.lr = o.required<std::vector<double>>("lr");
  what.clip_norm = o.required<double>("grad_clip");
  const double weight_decay = o.required<double>("weight_decay");
  // Adam's own decay is another function; without decay the two are one.
  const auto kind = meaning(o, "kind", {{"AdamW", "AdamW"}, {"Adam", "Adam"}});
  if (kind == "Adam" && weight_decay != 0)
    o.fail("weight_decay", "Adam with coupled decay is not built here");
  what.optimizer_options = {{"beta1", o.required<double>("beta1")},
                            {"beta2", o.required<double>("beta2")},
                            {"eps", o.required<double>("eps")},
                            {"weight_decay", weight_decay}};
  require_value(o, "bias_correction", true);
  require_value<std::string>(o, "weight_decay_on",
                             "all tensors with >=2 dims incl. embeddings; none on vectors");
  require_value<std::string>(o, "order", "backward, clip, optimiser, weight constraint");
  require_value<std::string>(
      o, "clip",
      "torch.nn.utils.clip_grad_norm_: global L2 norm, coef = min(1, clip/(total+1e-6))");
  if (o.has("schedule")) compare_rates(golden, o.object("schedule"), what.lr);
  o.finish();
}

struct Reader {
  const char* model;
  void (*read)(ParityCase& golden, const JsonObject& config, ParityModel& what);
};
constexpr Reader kReaders[] = {{"angpt", read_angpt},
                               {"gpt_plus", read_gpt_plus},
                               {"llama_prenorm", read_llama_prenorm},
                               {"ngpt", read_ngpt}};

}  // namespace

ParityModel read_parity_model(ParityCase& golden) {
  ParityModel what;
  const auto config = golden.config();
  if (read_parity_decoder(golden, config, what)) return what;
  what.name = golden.kind();
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& r) { return golden.kind() == r.model; });
  if (reader == std::end(kReaders)) {
    std::vector<std::string> known = {
        "hybrid_prenorm", "mamba2", "moe_sigmoid", "ngpt_hybrid", "op", "optim", "schedule"};
    for (const auto& r : kReaders) known.emplace_back(r.model);
    for (const auto& kind : parity_decoder_kinds())
      if (kind != "llama_prenorm") known.push_back(kind);
    throw UserError({.what = "unknown model of a golden file",
                     .where = golden.config().file(),
                     .found = "\"" + golden.kind() + "\"",
                     .expected = one_of(known),
                     .todo = did_you_mean(golden.kind(), known)});
  }
  read_size(config, what);
  read_rope(golden, config, what);
  reader->read(golden, config, what);
  if (config.has("optimizer")) read_optimizer(golden, config, what);
  for (const char* word : kWords) config.ignore(word);
  config.finish();
  return what;
}

}  // namespace normbench
