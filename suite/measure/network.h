// Small random networks of the three kinds that arXiv 2602.01212 compares, in fp64, with one
// sequence of random tokens.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "models/decoder.h"

namespace normbench {

struct NetworkOptions {
  int64_t num_layers = 3;    // L
  int64_t width = 64;        // D
  int64_t num_heads = 4;     // H
  int64_t mlp_width = 176;   // F
  int64_t vocabulary = 256;  // V
  int64_t num_tokens = 16;   // T, of one sequence
  double eps = 0;            // of every norm; 0 for exact invariance, 1e-5 in the published code
  // Matrices of the blocks. fan_in: N(0, 1 / fan_in); torchtitan: as published (decoder.h). The
  // embedding is N(0, 1) and the head N(0, 1/D) in both.
  std::string init = "fan_in";

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("num_layers", num_layers, at_least(1));
    v.number("width", width, at_least(1));
    v.number("num_heads", num_heads, at_least(1));
    v.number("mlp_width", mlp_width, at_least(1));
    v.number("vocabulary", vocabulary, at_least(1));
    v.number("num_tokens", num_tokens, at_least(1));
    v.number("eps", eps, at_least(0));
    v.choice("init", init, {"fan_in", "torchtitan"});
  }
};

struct Network {
  std::shared_ptr<Decoder> model;
  torch::Tensor tokens, targets;  // [1, T]
};
/// kind: prenorm, prenorm_qknorm (full width) or simplegpt, through the registry of models. Throws
/// UserError on another.
Network make_network(const std::string& kind, const NetworkOptions& options, uint64_t seed);

/// The matrices of the blocks (not embedding, head and gains), with their names. which: all, or qk
/// for those of queries and keys.
std::vector<std::pair<std::string, torch::Tensor>> block_matrices(Decoder& model,
                                                                  const std::string& which);

}  // namespace normbench
