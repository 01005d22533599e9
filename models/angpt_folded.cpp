#include "models/angpt_folded.h"

#include <torch/torch.h>

#include <cmath>

namespace normbench {

AngptFolded::AngptFolded(Angpt& model)
    : size_(model.size()),
      compute_type_(model.compute_type()),
      rope_(size_, model.options().rope_fraction, model.options().rope_base,
            model.options().rope_pairs) {
  torch::NoGradGuard no_grad;
  const AngptOptions& o = model.options();
  const double sqrt_d = o.silu_sqrt_d ? std::sqrt(static_cast<double>(size_.width)) : 1;
  const std::map<std::string, double> factor = {{"attn.q.weight", o.nu_qkv},
                                                {"attn.k.weight", o.nu_qkv},
                                                {"attn.v.weight", o.nu_qkv},
                                                {"attn.o.weight", o.nu_p},
                                                {"mlp.up.weight", o.nu_u},
                                                {"mlp.gate.weight", sqrt_d * o.nu_z},
                                                {"mlp.down.weight", o.nu_acf * o.nu_d}};
  torch::Tensor head_scale;
  for (const auto& group : model.parameter_groups()) {
    auto w = group.tensor.detach().clone();
    if (is_named(group.name, "head.scale")) {
      head_scale = w * (o.sz_init / o.sz_scale);
    } else if (is_named(group.name, "alpha")) {
      const auto [keep, add] = o.keep_and_add(o.alpha(w));
      const std::string site =
          group.name.substr(0, group.name.size() - std::string("alpha").size());
      weights_[site + "lerp_keep"] = keep;
      weights_[site + "lerp_add"] = add;
    } else {
      for (const auto& [leaf, value] : factor)
        if (is_named(group.name, leaf)) w.mul_(value);
      weights_[group.name] = w;
    }
  }
  weights_.at("head.weight").mul_(head_scale.unsqueeze(1));
}

torch::Tensor AngptFolded::attention(const torch::Tensor& h, const std::string& block) {
  const auto w = [&](const std::string& leaf) { return weights_.at(block + "attn." + leaf); };
  const auto qkv = ops::linear_many(h, {w("q.weight"), w("k.weight"), w("v.weight")});
  const auto query = ops::l2_norm(rope_(split_heads(qkv[0], size_.num_heads)));  // [B, T, H, Dh]
  const auto key = ops::l2_norm(rope_(split_heads(qkv[1], size_.num_heads)));
  const auto gain = w("g").to(query.scalar_type()).unsqueeze(-1);
  const auto y =
      ops::causal_attention(gain * query, key, split_heads(qkv[2], size_.num_heads), /*scale=*/1);
  return ops::linear(merge_heads(y), w("o.weight"));
}

torch::Tensor AngptFolded::mlp(const torch::Tensor& h, const std::string& block) const {
  const auto w = [&](const std::string& leaf) { return weights_.at(block + "mlp." + leaf); };
  const auto zu = ops::linear_many(h, {w("gate.weight"), w("up.weight")});
  return ops::linear(ops::swiglu(zu[0], zu[1]), w("down.weight"));
}

torch::Tensor AngptFolded::logits(const torch::Tensor& tokens) {
  torch::NoGradGuard no_grad;
  auto h = embed_tokens(weights_.at("embed.weight"), tokens, compute_type_);
  for (int64_t i = 0; i < size_.num_layers; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    const auto update = [&](const std::string& site, const torch::Tensor& branch) {
      const auto keep = weights_.at(block + site + ".lerp_keep"),
                 add = weights_.at(block + site + ".lerp_add");
      h = (keep * h + add * ops::l2_norm(branch)).to(compute_type_);
    };
    update("attn", attention(h, block));
    update("mlp", mlp(h, block));
  }
  return head_logits(h, weights_.at("head.weight"));
}

}  // namespace normbench
