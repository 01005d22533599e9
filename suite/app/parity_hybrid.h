// What a golden file of the hybrid family says of its model, in our words.
#pragma once

#include <string>

#include "suite/app/parity_model.h"

namespace normbench {

struct Hybrid {
  std::string kind;   // what the file holds: a language model, a block, ...
  std::string model;  // in the registry
  ModelSize size = {.num_layers = 1,
                    .width = 0,
                    .num_heads = 1,
                    .head_width = 1,
                    .mlp_width = 1,
                    .vocabulary = 1,
                    .context = 0};
  Json options = Json::object();
  int64_t batch = 0;
};

/// Throws UserError when the file's configuration is of something that parity cannot rebuild. Keys
/// that only describe the file are left unread.
Hybrid read_hybrid(ParityCase& golden, const JsonObject& config);

/// The matrices of every mixer, and the embedding. An option of a wrong type counts as 0: the model
/// refuses it by name.
double least_parameters(const Hybrid& what);

}  // namespace normbench
