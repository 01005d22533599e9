// Data sets by name: data.json says what one is; prepare() makes it, verify() proves it. See
// batches.h for reading one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sidecar.h"
#include "data/tokenizer.h"

namespace normbench {

constexpr const char* kDataSchema = "normbench-data-1";

/// What a preparation must give. The text's digest is a condition, the rest depends on
/// SentencePiece's version.
struct ExpectedDataset {
  std::string text_digest, pieces_digest, train_digest, validation_digest;
  int64_t train_tokens = 0, validation_tokens = 0;
  double bytes_per_token = 0, unigram_entropy_nats = 0;
};

struct DatasetSpec {
  std::string name;
  std::string file = {};  // that says so; empty: the user's own text
  std::string corpus;
  Json options = Json::object();
  TokenizerOptions tokenizer;
  double validation_share = 0.02;
  std::string license = {}, note = {};
  Json inputs = nullptr;  // of the user's own text: size and time of each file, so that a changed
                          // file is prepared again
  std::optional<ExpectedDataset> expected = {};
  /// What a prepared data set must have been made from.
  Json identity() const;
};

/// Reads suite/tables/data.json. Throws UserError on an unknown key, a wrong type, an unknown
/// corpus.
std::vector<DatasetSpec> read_data_specs(const std::string& path);

/// The specification of the user's own files. corpus: "text" or "jsonl". Throws UserError on a
/// missing file, and on a vocabulary beyond the limit of TokenizerOptions.
DatasetSpec user_spec(const std::string& name, const std::string& corpus,
                      const std::vector<std::string>& files, int64_t vocabulary,
                      double validation_share);
/// Path, size and time of files. Throws UserError on a missing one.
Json file_stamps(const std::vector<std::string>& files);

struct PrepareOptions {
  std::string cache_folder = "results/cache";
  std::string deb = {};  // a package file given by hand
  bool again = false;    // even if it is prepared and whole
};

/// Prepares one data set below the cache. Returns false when it was there already (and says so).
/// Works in a temporary folder and renames it into place: killed at any point, the next call starts
/// cleanly.
bool prepare_dataset(const DatasetSpec& spec, const PrepareOptions& options);

/// Tokens that exist already, used where they lie.
struct ReadyMade {
  std::string name;
  std::string format;              // "llmc", "nanogpt", "megatron"
  std::vector<std::string> files;  // llmc: shards (the word "val" in a name: validation); nanogpt:
                                   // folder; megatron: prefix
  int64_t vocabulary = 0;          // 0: largest id + 1
  double validation_share = 0.02;  // megatron: the last documents
};
bool prepare_ready_made(const ReadyMade& request, const PrepareOptions& options);

/// Reads everything again. One line a damage; empty when the data set is whole. Throws UserError
/// when it is not prepared.
std::vector<std::string> verify_dataset(const std::string& name, const std::string& cache_folder);

}  // namespace normbench
