// Parity says no to every other meaning of a golden file: another constant, exchanged matrices or
// heads, a gain or a curvature left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "suite/app/parity.h"
#include "suite/app/testing/golden_copy.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

using namespace testing::golden_copy;

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

}  // namespace
}  // namespace normbench
