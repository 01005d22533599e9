// Every golden file agrees, and parity says no to every damage: a number, a meaning, a name, a
// missing or extra tensor.
#include "suite/app/parity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "suite/base/errors.h"
#include "suite/base/json.h"
#include "suite/base/safetensors.h"
#include "suite/base/testing/interrupted.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench {
namespace {

const std::string kFolder = std::string(NORMBENCH_SOURCE_DIR) + "/baselines/golden/";

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// A golden file in memory, to be damaged and written elsewhere.
struct Copy {
  struct Tensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::string bytes;

    template <class T>
    T* values() {
      return reinterpret_cast<T*>(bytes.data());
    }
    size_t size() const { return bytes.size() / 8; }
  };
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  explicit Copy(const std::string& path) {
    const SafetensorsFile file(path);
    metadata = file.metadata();
    for (const auto& [name, t] : file.tensors())
      tensors[name] = {t.dtype, t.shape, std::string(t.bytes)};
  }
  void set_config(const std::string& pointer, const Json& value) {
    auto config = parse_json(metadata.at("config"), "config");
    config[Json::json_pointer(pointer)] = value;
    metadata["config"] = config.dump();
  }
  /// Adds a millionth of the tensor's largest magnitude to one entry; another token, when it holds
  /// integers.
  void damage(const std::string& name) {
    auto& t = tensors.at(name);
    if (t.dtype == "I64") {
      auto* v = t.values<int64_t>();
      v[0] = (v[0] + 1) % std::max<int64_t>(*std::max_element(v, v + t.size()) + 1, 2);
      return;
    }
    // It acts through the choice of experts alone, which a small change leaves as it is.
    if (name.ends_with("router.bias")) {
      t.values<double>()[0] += 10;
      return;
    }
    double largest = 0;
    for (size_t i = 0; i < t.size(); ++i)
      largest = std::fmax(largest, std::abs(t.values<double>()[i]));
    if (largest < 1e-12) largest = 1;  // rounding noise of a zero: it is compared absolutely
    // The row of a token that the batch does not hold has no effect, nor has a tap that reaches
    // before a short text, and a comparison rightly sees none.
    int64_t entry = 0;
    if (name == "param.embed.weight")
      entry = tensors.at("input.tokens").values<int64_t>()[0] * t.shape[1];
    if (name.ends_with("conv.weight")) entry = t.shape.back() - 1;
    t.values<double>()[entry] += 1e-6 * largest;
  }
  std::string write() const {
    std::map<std::string, TensorEntry> entries;
    for (const auto& [name, t] : tensors)
      entries[name] = {.dtype = t.dtype, .shape = t.shape, .bytes = t.bytes};
    // Each process has its own: CTest runs these tests side by side.
    static const normbench::testing::TemporaryFolder folder;
    const std::string path = folder.path("damaged.safetensors");
    std::ofstream(path, std::ios::binary)
        << safetensors_bytes(metadata, entries);  // no fsync: a thousand files
    return path;
  }
};

ParityReport damaged(const std::string& file, const std::function<void(Copy&)>& damage) {
  Copy copy(kFolder + file + ".safetensors");
  damage(copy);
  return check_parity(copy.write());
}

double error_of(const ParityReport& report, const std::string& name) {
  for (const auto& row : report.rows)
    if (row.name == name) return row.error;
  return -1;
}

TEST(Parity, EveryGoldenFileAgrees) {
  const auto files = golden_files();
  EXPECT_GE(files.size(), 131u);
  for (const auto& file : files) {
    const auto report = check_parity(file);
    EXPECT_TRUE(report.passed()) << parity_text(report);
    const auto num_tensors = static_cast<int64_t>(SafetensorsFile(file).tensors().size());
    EXPECT_GE(static_cast<int64_t>(report.rows.size()) + report.num_read, num_tensors) << file;
  }
}

TEST(Parity, OneWrongEntryInAnyKindOfTensorFails) {
  for (const auto& file : golden_files()) {
    const Copy intact(file);
    std::set<std::string>
        seen;  // the kind of a tensor is its name without the numbers of block, step and batch
    for (const auto& [name, tensor] : intact.tensors) {
      if (!seen.insert(std::regex_replace(name, std::regex("[0-9]+"), "#")).second) continue;
      // A constant added to every key shifts all scores of a row equally: without RoPE nothing
      // depends on it.
      if (name.starts_with("param.") && name.ends_with("attn.k.bias")) continue;
      // Nor does the Hessian behind a norm without eps depend on the factor of the matrix.
      const auto& file_name = std::filesystem::path(file).stem().string();
      if (name == "input.c" && !file_name.ends_with("-eps") &&
          (file_name.starts_with("hessian-simplenorm") || file_name == "hessian-net-simplegpt"))
        continue;
      Copy copy = intact;
      copy.damage(name);
      EXPECT_FALSE(check_parity(copy.write()).passed()) << file << " " << name;
    }
  }
}

TEST(Parity, ATensorThatNothingComputesFails) {
  for (const auto& file : golden_files()) {
    Copy copy(file);
    for (const std::string name : {"grad.surplus", "param.surplus", "unknown"})
      copy.tensors[name] = {"F64", {}, std::string(8, '\0')};
    if (copy.metadata.at("model") == "optim")
      copy.tensors.erase("param.surplus");  // there it is a parameter
    const auto report = check_parity(copy.write());
    EXPECT_FALSE(report.passed()) << file;
    EXPECT_TRUE(std::isinf(error_of(report, "grad.surplus"))) << parity_text(report);
  }
}

TEST(Parity, AnUnknownConfigKeyIsAnError) {
  for (const auto& file : golden_files()) {
    Copy copy(file);
    copy.set_config("/surplus", 1);
    EXPECT_THROW(check_parity(copy.write()), UserError) << file;
  }
  for (const std::string pointer :
       {"/rope/surplus", "/optimizer/surplus", "/optimizer/schedule/surplus", "/nu_values/surplus"})
    EXPECT_THROW(damaged("angpt-train3", [&](Copy& c) { c.set_config(pointer, 1); }), UserError)
        << pointer;
  EXPECT_THROW(damaged("optim-ngpt", [](Copy& c) { c.set_config("/params/rows/surplus", 1); }),
               UserError);
}

struct Mutation {
  const char* file;
  const char* pointer;
  Json value;
  const char* seen_in;  // a row that must differ
};

TEST(Parity, AWrongConstantFails) {
  const Mutation mutations[] = {
      {"gpt_plus", "/rms_eps", 1e-8, "out.logits"},
      {"gpt_plus", "/rope/base", 500.0, "out.logits"},
      {"gpt_plus", "/rope/convention", "interleaved", "out.logits"},
      {"angpt", "/silu_sqrt_d", false, "out.logits"},
      {"angpt", "/nu_alpha", "scalar", "out.logits"},
      {"angpt", "/alpha_scale", 0.02, "out.logits"},
      {"angpt", "/nu_values/qkv", 1.0, "config.nu_values.qkv"},
      {"angpt-train3", "/optimizer/eps", 1e-8, "step3.blocks.0.attn.q.weight"},
      {"angpt-train3", "/optimizer/grad_clip", 0.5, "step3.blocks.0.attn.q.weight"},
      {"angpt-train3", "/optimizer/schedule/total_steps", 6, "config.optimizer.lr.1"},
      {"ngpt-rotation", "/alpha_abs", false, "out.logits"},
      {"ngpt-rotation", "/sqk_init", 1.1, "out.logits"},
      {"ngpt-rotation", "/residual",
       "h = norm(h + alpha*(branch - h)), branch = x/||x||; h itself is not normalised first",
       "grad.embed.weight"},
      {"ngpt-angpt_table1", "/suv_init", 1.1, "out.logits"},
      {"ngpt-train3", "/optimizer/beta2", 0.96, "step3.blocks.0.attn.q.weight"},
      {"llama_prenorm-nvidia_gpt", "/optimizer/weight_decay", 0.0, "step1.embed.weight"},
      {"op-norms", "/rms_eps", 1e-8, "out.rms"},
      {"op-angpt_lerp-scalar", "/nu_alpha", "elementwise", "out.y"},
      {"op-rope-half", "/rope", "interleaved", "out.y"},
      {"llama_prenorm-half", "/norm_eps", 1e-5, "out.logits"},
      {"llama_prenorm-interleaved", "/norm_eps", 1e-8, "out.logits"},
      {"llama_prenorm-half-gqa", "/rope_base", 10000.0, "out.logits"},
      {"llama_prenorm-half-gqa", "/rope", "interleaved", "out.logits"},
      {"llama_qknorm_head-half-gqa", "/attn_scale", 0.35, "config.attn_scale"},
      {"postnorm-ln", "/norm_eps", 1e-8, "out.logits"},
      {"deepnorm-lnsrepo", "/residual_scale", 1.4142135623730951, "out.logits"},
      {"deepnorm-llama-rms", "/residual_scale", 1.189207115002721, "out.logits"},
      {"deepnorm-llama-ln", "/norm_eps", 1e-8, "out.logits"},
      {"olmo2", "/norm_eps", 1e-8, "out.logits"},
      {"lnscaling", "/norm_eps", 1e-8, "out.logits"},
      {"simplegpt", "/norm_eps", 1e-8, "out.logits"},
      {"hessian-simplenorm-frozen-eps", "/eps", 0.0, "out.hessian"},
      {"hessian-simplenorm-frozen-eps", "/eps", 0.0099999, "out.spectral_norm_c"},
      {"hessian-simplenorm-ce-eps", "/eps", 0.0, "out.hessian, L + C"},
      {"hessian-simplenorm-mse", "/eps", 1e-5, "out.hessian_curv"},
      {"hessian-net-prenorm", "/norm_eps", 1e-5, "out.hessian"},
      {"hessian-net-qknorm_full", "/norm_eps", 1e-5, "out.hvp"},
      {"hessian-net-simplegpt", "/norm_eps", 1e-5, "out.spectral_norm_c"},
      {"hessian-net-simplegpt", "/rope_base", 5000.0, "out.eigenvalues"},
      {"simplegpt-gqa", "/norm_eps", 1e-5, "out.logits"},
      {"nanogpt-bias", "/norm_eps", 1e-8, "out.logits"},
      {"op-rmsnorm", "/eps", 1e-8, "out.y"},
      {"op-layernorm", "/eps", 1e-8, "out.y"},
      {"op-simplenorm", "/eps", 1e-8, "out.y"},
      {"op-l2norm-clamp", "/eps", 1e-8, "out.y"},
      {"op-l2norm-sum", "/formula", "x / (||x||_2 + eps)", "out.y"},
      {"op-l2norm-add", "/formula", "x / max(||x||_2, eps)", "out.y"},
      {"optim-adamw", "/eps", 1e-6, "out.step8.w"},
      {"optim-ngpt", "/params/cols/axis", 1, "out.step1.cols"},
      {"optim-ngpt", "/tangent_grad", true, "out.step1.rows"},
      {"optim-ngpt_tangent", "/tangent_grad", false, "out.step1.rows"},
      {"optim-gated_a2", "/a", 1.0, "out.step1.w"},
      {"optim-gated_a0", "/a", 1.0, "out.gamma.w"},  // a and 1 - a swapped
      {"optim-gated_a1", "/a", 0.0, "out.gamma.w"},
      {"optim-gated_a05", "/eps_gate", 2e-3, "out.step8.w"},
      {"optim-gated_a05", "/alpha", 1.0, "out.step1.b"},
      {"optim-gated_zero_a05", "/weight_decay", 0.0, "out.step1.w"},
      {"optim-asc_traj", "/kappa_c", 0.71, "out.step1.rows"},
      {"optim-asc_floor", "/theta_floor", 0.0, "out.step1.rows"},
      {"optim-full", "/clip", 2.0, "out.step6.free"},
      {"optim-full", "/params/cols/axis", 1, "out.step1.cols"},
      // The first step is the same direction at another length, which the orthogonalisation drops.
      {"optim-muon", "/nesterov", false, "out.step2.wide"},
      {"optim-muon", "/ns_steps", 4, "out.step1.tall"},
      {"optim-muon", "/adjust_lr_fn", "original", "out.step1.tall"},
      {"optim-asc", "/theta_max", 0.051, "out.w.rows"},
      {"optim-lgp_q05", "/q", 1.0, "grad.h"},
      {"optim-lgp_q05", "/q", "off", "grad.head.weight"},
      {"mamba2-block", "/eps", 1e-3, "out.y"},
      {"mamba2-block", "/d_inner", 63, "config.d_inner"},
      {"mamba2-block_groups", "/norm_groups", 1, "out.y"},  // one norm over all channels
      {"mamba2-block_groups", "/gate_norm", "none", "out.y"},
      {"mamba2-lm", "/norm_groups", 1, "out.logits"},
      {"hybrid_prenorm-lm", "/norm_groups", 1, "out.logits"},
      {"hybrid_prenorm-lm", "/eps", 1e-3, "out.logits"},
      {"hybrid_prenorm-lm", "/norm_topk_prob", false, "out.logits"},
      {"hybrid_prenorm-lm", "/routed_scaling_factor", 1.0, "out.logits"},
      {"moe_sigmoid-swiglu", "/norm_topk_prob", false, "out.topk_weight"},
      {"moe_sigmoid-swiglu_nonorm", "/norm_topk_prob", true, "out.y"},
      {"moe_sigmoid-relu2", "/top_k", 1, "out.topk_idx"},
      {"moe_sigmoid-balance", "/bias_update_rate", 2e-3, "out.bias_after"},
      {"moe_sigmoid-balance", "/aux_coeff", 2e-4, "grad.router_logits"},
      {"ngpt_hybrid-lm", "/alpha_init", 0.06, "out.logits"},
      {"ngpt_hybrid-lm", "/alpha_abs", false, "out.logits"},
      {"ngpt_hybrid-lm", "/s_mamba_init", 1.0, "out.logits"},
      {"ngpt_hybrid-lm", "/s_moe_init", 1.0, "out.logits"},
      {"ngpt_hybrid-lm", "/s_qk_init", 1.1, "out.logits"},
      {"ngpt_hybrid-lm", "/s_z_init", 1.1, "out.logits"},
      {"ngpt_hybrid-lm", "/fngpt", true, "out.logits"},
      {"ngpt_hybrid-lm", "/embed_norm_in_graph", false, "grad.embed.weight"},
      {"ngpt_hybrid-lm_fngpt_suv", "/dt_row_scale", 1.0, "out.logits"},
      {"ngpt_hybrid-mamba", "/dt_row_scale", 0.58, "out.dt"},
      {"ngpt_hybrid-mamba_fngpt", "/fngpt", false, "out.branch"},
      {"ngpt_hybrid-attn_fngpt", "/fngpt", false, "out.branch"},
      {"ngpt_hybrid-moe", "/routed_scaling_factor", 1.0, "out.y"},
      // The norm of the branch removes a common factor of all hidden vectors.
      {"ngpt_hybrid-moe_suv", "/s_uv_init", 1.1, "out.branch"},
      {"ngpt_hybrid-constraint", "/router_normalised", false,
       "config.axis.blocks.2.moe.router.weight"},
      {"ngpt_hybrid-constraint", "/axis/blocks.0.mamba.out_proj.weight", 1,
       "config.axis.blocks.0.mamba.out_proj.weight"},
      {"schedule-cosine", "/warmup_steps", 19, "out.lr"},
      {"schedule-linear", "/schedule", "cosine", "out.lr"},
      {"schedule-wsd_1sqrt", "/schedule", "wsd_linear", "out.area"},
      {"schedule-wsd_exp", "/decay_steps", 36, "out.lr"},  // 20 % of the steps after the warm-up
      {"schedule-inv_sqrt_floor", "/warmup_steps", 19, "out.lr"},
      {"schedule-log", "/rho", 0.06, "out.equal_auc_peak_continuous"},
      {"schedule-table", "/wsd_decay_share_of_total", 0.18, "out.peak_ratio_vs_wsd_1sqrt"},
  };
  for (const auto& m : mutations) {
    const auto report = damaged(m.file, [&](Copy& c) { c.set_config(m.pointer, m.value); });
    EXPECT_FALSE(report.passed());
    EXPECT_GT(error_of(report, m.seen_in), report.tolerance) << m.file << " " << m.pointer << "\n"
                                                             << parity_text(report);
  }
}

TEST(Parity, SwappedHalvesOfTheMlpFail) {
  for (const std::string file :
       {"gpt_plus", "angpt", "ngpt-rotation", "llama_prenorm-nvidia_gpt", "llama_prenorm-half-tied",
        "postnorm-ln", "olmo2", "deepnorm-llama-rms", "lnscaling", "simplegpt", "dyt-llama",
        "derf-llama"}) {
    const auto report = damaged(file, [](Copy& c) {
      std::swap(c.tensors.at("param.blocks.0.mlp.gate.weight"),
                c.tensors.at("param.blocks.0.mlp.up.weight"));
    });
    EXPECT_GT(error_of(report, "out.logits"), 1e-3) << file;
  }
}

TEST(Parity, ExchangedMatricesOfAnExpertOrTapsOfTheConvolutionFail) {
  const auto gate = damaged("moe_sigmoid-swiglu", [](Copy& c) {
    std::swap(c.tensors.at("param.blocks.0.moe.experts.0.gate.weight"),
              c.tensors.at("param.blocks.0.moe.experts.0.up.weight"));
  });
  EXPECT_GT(error_of(gate, "out.y"), 1e-3);
  for (const std::string file : {"mamba2-block", "mamba2-conv"}) {
    const auto taps = damaged(file, [](Copy& c) {
      auto& w =
          c.tensors.at(c.tensors.count("param.conv.weight") ? "param.conv.weight"
                                                            : "param.blocks.0.mamba.conv.weight");
      std::reverse(w.values<double>(), w.values<double>() + 4);
    });
    EXPECT_GT(error_of(taps, "out.y"), 1e-6) << file;
  }
}

TEST(Parity, AMissingGainFails) {
  const std::pair<const char*, const char*> gains[] = {
      {"llama_qknorm_full-interleaved", "attn.q_norm.weight"},
      {"llama_qknorm_head-half", "attn.k_norm.weight"},
      {"simplegpt", "attn.v.norm.weight"},
      {"simplegpt", "mlp.gate.norm.weight"},
      {"olmo2", "mlp.norm.weight"},
      {"postnorm-rms", "attn.norm.weight"},
      {"deepnorm-torchscale", "mlp.norm.weight"},
      {"lnscaling", "attn.norm.weight"},
      {"dyt-llama", "attn.norm.alpha"},
      {"nanogpt-nobias", "mlp.norm.weight"},
      {"mamba2-lm", "mamba.norm.weight"},
      {"hybrid_prenorm-lm", "norm.weight"}};
  for (const auto& [file, name] : gains) {
    const auto report = damaged(file, [&](Copy& c) {
      auto& t = c.tensors.at(std::string("param.blocks.0.") + name);
      std::fill(t.values<double>(), t.values<double>() + t.size(), 1.0);
    });
    EXPECT_GT(error_of(report, "out.logits"), 1e-3) << file << " " << name;
  }
}

// What a program without the curvature, or without the gain, would have written.
TEST(Parity, AHessianWithoutCurvatureOrGainFails) {
  for (const std::string loss : {"frozen", "ce", "mse", "spike", "frozen-eps", "ce-eps"}) {
    const std::string file = "hessian-simplenorm-" + loss;
    const auto curvature = damaged(
        file, [](Copy& c) { c.tensors.at("out.hessian") = c.tensors.at("out.hessian_gn"); });
    EXPECT_GT(error_of(curvature, "out.hessian"), 1e-2) << file;
    EXPECT_GT(error_of(curvature, "out.hessian, L + C"), 1e-2) << file;
    const auto gain = damaged(file, [](Copy& c) {
      auto& t = c.tensors.at("input.gamma");
      std::fill(t.values<double>(), t.values<double>() + t.size(), 1.0);
    });
    for (const std::string name : {"out.y", "out.hessian_gn", "out.hessian_curv", "out.hessian"})
      EXPECT_GT(error_of(gain, name), 1e-2) << file << " " << name;
  }
}

// With 4 heads and 2 of keys, reading head h mod 2 is reading head floor(h / 2) with heads 1 and 2
// exchanged in W_q and W_o.
TEST(Parity, AWrongHeadOfKeysFails) {
  for (const std::string file : {"llama_prenorm-half-gqa", "llama_prenorm-interleaved-gqa",
                                 "llama_qknorm_head-half-gqa", "olmo2-gqa", "dyt-llama-gqa"}) {
    const auto report = damaged(file, [](Copy& c) {
      auto &q = c.tensors.at("param.blocks.0.attn.q.weight"),
           &o = c.tensors.at("param.blocks.0.attn.o.weight");
      const int64_t inner = q.shape[0], width = q.shape[1], head = inner / 4;
      std::swap_ranges(q.values<double>() + head * width, q.values<double>() + 2 * head * width,
                       q.values<double>() + 2 * head * width);
      for (int64_t row = 0; row < width; ++row) {
        double* begin = o.values<double>() + row * inner + head;
        std::swap_ranges(begin, begin + head, begin + head);
      }
    });
    EXPECT_GT(error_of(report, "out.logits"), 1e-3) << file;
  }
}

TEST(Parity, NotANumberIsNeverEqual) {
  const auto report = damaged("gpt_plus", [](Copy& c) {
    c.tensors.at("out.logits").values<double>()[3] = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_TRUE(std::isinf(error_of(report, "out.logits")));
}

TEST(Parity, WhatItCannotRebuildIsAnError) {
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata["model"] = "angpt2"; }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata["format"] = "normbench-golden-2"; }),
               UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata["tolerance"] = "1"; }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata.erase("config"); }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.tensors.erase("param.head.scale"); }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.set_config("/d_ff", 35); }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.set_config("/norm_eps", 1e-8); }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.set_config("/residual", "another"); }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.set_config("/activation", "gelu"); }), UserError);
  EXPECT_THROW(damaged("op-norms", [](Copy& c) { c.set_config("/op", "swish"); }), UserError);
  EXPECT_THROW(damaged("op-derf", [](Copy& c) { c.set_config("/op", "dyt"); }), UserError);
  const std::tuple<const char*, const char*, Json> meanings[] = {
      {"llama_prenorm-half", "/placement", "post"},
      {"llama_prenorm-half", "/causal", false},
      {"llama_prenorm-half", "/mlp", "gelu"},
      {"llama_qknorm_full-interleaved", "/qk_norm_order", "after_rope"},
      {"olmo2", "/placement", "pre"},
      {"lnscaling", "/branch_norm_scale", "none"},
      {"nanogpt-nobias", "/norm_bias", true},
      {"nanogpt-nobias", "/activation", "gelu_tanh"},
      {"dyt-llama", "/embed_scale", "token_plus_pos"},
      {"simplegpt", "/norm_weight", false},
      {"hessian-linear-mse", "/eps", 0.01},
      {"hessian-linear-mse", "/loss", "l(y) = ||y - t||^2"},
      {"hessian-simplenorm-mse", "/op", "hessian_linear"},
      {"hessian-simplenorm-mse", "/d_in", 25},
      {"hessian-net-simplegpt", "/hessian_wrt", "activations entering block 0"},
      {"hessian-net-simplegpt", "/spectral_norm_c", "only q and k"},
      {"mamba2-block", "/norm_before_gate", true},
      {"mamba2-block", "/in_proj_order", "x,z,B,C,dt"},
      {"mamba2-lm", "/kind", "mamba3_lm"},
      {"mamba2-ssd", "/D_included", false},
      {"mamba2-conv", "/kernel", 3},
      {"moe_sigmoid-swiglu", "/score", "softmax"},
      {"moe_sigmoid-swiglu", "/kind", "moe_relu2"},
      {"moe_sigmoid-relu2", "/bias_use", "weight"},
      {"hybrid_prenorm-lm", "/pattern", "MEM*-E"},
      {"hybrid_prenorm-lm", "/pattern", "MEM*E"},
      {"hybrid_prenorm-lm", "/dt_clamp/0", 0.001},
      {"ngpt_hybrid-lm", "/pattern", "MEM*EM"},
      {"ngpt_hybrid-lm", "/rope", "half"},
      {"ngpt_hybrid-lm", "/residual", "another"},
      {"ngpt_hybrid-lm", "/norm_eps", 1e-8}};
  for (const auto& [file, pointer, value] : meanings)
    EXPECT_THROW(damaged(file, [&, p = pointer, v = value](Copy& c) { c.set_config(p, v); }),
                 UserError)
        << file << " " << pointer;
  EXPECT_THROW(damaged("optim-adamw", [](Copy& c) { c.set_config("/optimizer", "muon"); }),
               UserError);
  // The cap on an embedding gives angles that the file has not.
  EXPECT_THROW(damaged("optim-full", [](Copy& c) { c.set_config("/params/embed/asc", true); }),
               UserError);
  EXPECT_THROW(damaged("optim-full", [](Copy& c) { c.set_config("/params/free/asc", true); }),
               UserError);
  EXPECT_THROW(damaged("optim-lgp_q1", [](Copy& c) { c.set_config("/q", "on"); }), UserError);
  EXPECT_THROW(damaged("optim-muon", [](Copy& c) { c.set_config("/ns_coefficients/0", 3.4); }),
               UserError);
  EXPECT_THROW(damaged("schedule-linear", [](Copy& c) { c.set_config("/schedule", "log"); }),
               UserError);
}

TEST(Parity, ExitCodesSayAgreesDiffersWrongFile) {
  ::testing::internal::CaptureStdout();
  const std::string good = kFolder + "op-rope.safetensors";
  EXPECT_EQ(run_parity({good}), kExitOk);
  Copy copy(good);
  copy.damage("out.half");
  const auto bad = copy.write();
  EXPECT_EQ(run_parity({bad, good}), kExitCheckRed);
  EXPECT_EQ(run_parity({"/nowhere.safetensors", bad, good}), kExitWrongUse);
  const auto printed = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("FAIL"), std::string::npos);
  EXPECT_NE(printed.find("out.half "), std::string::npos);
}

// What no part of parity foresees, and sizes that no memory holds.
TEST(Parity, AFileThatCannotBeComputedIsAnErrorOfItsOwnAndTheNextIsCompared) {
  const auto reshape = [](const std::string& name, const std::vector<int64_t>& shape) {
    return [=](Copy& c) { c.tensors.at(name).shape = shape; };
  };
  const auto size = [](const std::string& pointer, const Json& value) {
    return [=](Copy& c) { c.set_config(pointer, value); };
  };
  const auto token = [](Copy& c) { c.tensors.at("input.tokens").values<int64_t>()[0] = -5; };
  const auto flat = [](const std::string& file, const std::string& name) {
    return std::vector<int64_t>{
        static_cast<int64_t>(Copy(kFolder + file + ".safetensors").tensors.at(name).size())};
  };
  const std::tuple<const char*, std::function<void(Copy&)>, const char*> cases[] = {
      {"gpt_plus", token, ""},
      {"op-norms", reshape("input.x", flat("op-norms", "input.x")), ""},
      {"op-norms", reshape("input.cotangent", flat("op-norms", "input.cotangent")), ""},
      {"op-norms",
       [](Copy& c) {
         c.tensors.at("param.gain") = {"F64", {3}, std::string(24, '\0')};
       },
       ""},
      {"gpt_plus", size("/n_layers", 1000000000), "cannot hold a model of these sizes"},
      {"gpt_plus", size("/d_model", 1000000000000), "cannot hold a model of these sizes"},
      {"gpt_plus", size("/T", 1000000000000), "does not have the shape"},
      {"llama_prenorm-half", size("/d_ff", 1000000000000), "cannot hold a model of these sizes"},
      {"mamba2-lm", size("/n_layers", 1000000000), "cannot hold a model of these sizes"},
      {"moe_sigmoid-relu2", size("/n_experts", 1000000000), "cannot hold a model of these sizes"},
      {"schedule-linear", size("/steps", 1000000000000), "out.lr has another length"}};
  const std::string good = kFolder + "op-rope.safetensors";
  for (const auto& [file, damage, words] : cases) {
    Copy copy(kFolder + file + ".safetensors");
    damage(copy);
    const std::string bad = copy.write();
    ::testing::internal::CaptureStdout();
    const int code = run_parity({bad, good});
    const auto printed = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, kExitWrongUse) << file << "\n" << printed;
    EXPECT_NE(printed.find(bad + ": ERROR\n"), std::string::npos) << printed;
    EXPECT_NE(printed.find(words), std::string::npos) << printed;
    EXPECT_NE(printed.find(good + ": op rope"), std::string::npos) << printed;
    EXPECT_EQ(printed.find("Exception raised"), std::string::npos) << printed;
  }
}

TEST(Parity, ASignalEndsItBetweenTwoFiles) {
  EXPECT_EXIT(testing::run_after_a_signal([] { run_parity({"/nowhere.safetensors"}); }),
              ::testing::ExitedWithCode(kExitInterrupted), "");
}

}  // namespace
}  // namespace normbench
