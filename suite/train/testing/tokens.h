// For tests of the loop: a configuration that trains in a blink, and text that is easy to learn.
#pragma once

#include <string>

#include "data/batches.h"
#include "suite/base/json.h"

namespace normbench::testing {

inline Json micro_config(const std::string& model = "gpt_plus") {
  return {{"model", model},
          {"model_options", Json::object()},
          {"size",
           {{"num_layers", 2},
            {"width", 32},
            {"num_heads", 2},
            {"head_width", 16},
            {"mlp_width", 64},
            {"context", 32},
            {"vocabulary", 97}}},
          {"optimizer", "adamw"},
          {"optimizer_options", Json::object()},
          {"schedule", "cosine"},
          {"schedule_options", Json::object()},
          {"peak_lr", 0.01},
          {"clip_norm", 1.0},
          {"token_budget", 20 * 4 * 32},
          {"batch_sequences", 4},
          {"micro_batch_sequences", 2},
          {"dataset", "canary"},
          {"train_digest", ""},
          {"validation_digest", ""},
          {"validation_tokens", 128},
          {"divergence", {{"loss_above", 100.0}}},
          {"precision", "fp32"},
          {"device", "cpu"},
          {"threads", 1},
          {"seed", 0}};
}

/// A stream in which the next token is the last one plus one: something a model learns in a few
/// steps.
class CountingTokens : public TokenSource {
 public:
  int64_t vocabulary() const override { return 97; }
  int64_t num_train_tokens() const override { return 10000; }
  int64_t num_validation_tokens() const override { return 1000; }
  void read_train(int64_t offset, int64_t count, int64_t* out) const override {
    for (int64_t i = 0; i < count; ++i) out[i] = (offset + i) % 97;
  }
  void read_validation(int64_t offset, int64_t count, int64_t* out) const override {
    read_train(offset + 5, count, out);
  }
  std::string train_digest() const override { return ""; }
  std::string validation_digest() const override { return ""; }
};

}  // namespace normbench::testing
