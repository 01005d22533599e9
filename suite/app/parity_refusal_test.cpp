// A golden file that parity cannot rebuild is an error and not a difference: an unknown name or
// meaning, sizes that no memory holds.
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "suite/app/parity.h"
#include "suite/app/testing/golden_copy.h"
#include "suite/base/errors.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

using namespace testing::golden_copy;

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

TEST(Parity, WhatItCannotRebuildIsAnError) {
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata["model"] = "angpt2"; }), UserError);
  EXPECT_THROW(damaged("angpt", [](Copy& c) { c.metadata["format"] = "normbench-golden-2"; }),
               UserError);
  for (const std::string tolerance : {"1", "1.1e-6", "0", "-1e-9", "\"1e-9\""})
    EXPECT_THROW(damaged("angpt", [&](Copy& c) { c.metadata["tolerance"] = tolerance; }), UserError)
        << tolerance;
  EXPECT_TRUE(damaged("angpt", [](Copy& c) { c.metadata["tolerance"] = "1e-6"; }).passed());
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

}  // namespace
}  // namespace normbench
