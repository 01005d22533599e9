// `normbench data list | prepare | verify`: the bodies, with plain arguments. Each returns an exit
// code or throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suite/app/project.h"

namespace normbench {

/// Name, corpus, vocabulary, tokens, whether it is prepared, licence; also the user's own prepared
/// sets, and those that tables want and nobody has brought yet. To standard output.
int data_list(const Project& project);

struct DataPrepareOptions {
  std::vector<std::string> names;  // keys of data.json, or sets of the user's own
  bool selected = false;  // the names are what --tier and --only train on; nobody typed them
  bool again = false;     // even if prepared and whole
  std::string deb;        // a package file given by hand, for exactly one name
  // The user's own data: a name and exactly one source.
  std::string name;
  std::vector<std::string> text, jsonl,
      llmc_shards;                 // files; llmc_shards may hold patterns ("data/fineweb_*.bin")
  std::string nanogpt;             // folder with train.bin and val.bin
  std::string megatron;            // prefix of a .bin and .idx pair
  int64_t vocabulary = 0;          // 0, not given: 4096 for text, the largest id + 1 for shards
  double validation_share = 0.02;  // of text, JSON lines and Megatron documents
};
/// A set of the user's own that is named without its source is only looked at. One that is wanted
/// and was never brought: kExitSkipped when it was asked for by name, one line when a selection
/// wants it; MachineError when $NORMBENCH_REQUIRE has "data".
int data_prepare(const Project& project, const DataPrepareOptions& options);

/// Reads everything again and prints digests; none: every prepared data set. Exit code 1 when a
/// byte has changed, naming the byte range, or when a sidecar is damaged: the others are verified
/// as well. Throws UserError on a name that is not prepared.
int data_verify(const Project& project, const std::vector<std::string>& names);

}  // namespace normbench
