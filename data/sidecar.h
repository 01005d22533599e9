// dataset.json, the sidecar of a prepared data set: what the tokens are, where they lie, and the
// digests that prove it.
//   <cache>/datasets/<name>/dataset.json, train_000000.bin, validation_000000.bin, tokenizer.model
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/shard.h"
#include "suite/base/json.h"

namespace normbench {

constexpr const char* kSidecarSchema = "normbench-dataset-1";

/// A file with digests of the whole and of blocks, so that a changed byte can be located.
struct DigestedFile {
  std::string path;  // relative to the data set's folder, or absolute (shards of the user, used
                     // where they lie)
  int64_t bytes = 0;
  int64_t modified_ns = 0;  // of an absolute path: files above 1 GiB are read whole by verify only
  std::string digest = {};  // XXH3-128 of the file
  int64_t block_bytes = 0;
  std::vector<std::string> blocks = {};  // XXH3-64 of each block
};

/// Part of a split: tokens that lie one after the other in one file.
struct SplitPart {
  int64_t file = 0;  // index into files
  int64_t first_byte = 0;
  int64_t tokens = 0;
};

struct SplitRecord {
  int64_t tokens = 0;
  int64_t text_bytes = 0;  // 0: unknown (ready-made shards)
  int64_t documents = 0;   // 0: unknown
  std::string digest;      // XXH3-128 over the token values as stored
  std::vector<SplitPart> parts;
};

struct Sidecar {
  std::string name;
  std::string spec_digest;  // of what was asked for: another one means "prepare again"
  Json spec;                // corpus, options, tokeniser settings, validation share
  int64_t vocabulary = 0;
  int64_t token_bytes = 2;
  std::string pieces_digest;   // empty: no tokeniser of ours
  std::string text_digest;     // empty: ready-made shards
  double bytes_per_token = 0;  // of both splits, end-of-text tokens included; 0: unknown
  double unigram_entropy_nats =
      0;  // of the training tokens: the loss of a model that only knows frequencies
  SplitRecord train, validation;
  std::vector<DigestedFile> files;
  std::vector<Json> sources;
  std::vector<std::string> warnings;
};

/// Folder of a data set; where a name that could leave the cache (slashes, a leading dot) throws
/// UserError.
std::string dataset_folder(const std::string& cache, const std::string& name);

/// The command that prepares a data set again, from the `spec` of its sidecar: data of the user's
/// own with its name and source.
std::string prepare_again(const std::string& name, const Json& spec);

void write_sidecar(const std::string& folder, const Sidecar& sidecar);
/// Throws UserError: not prepared (with the nearest prepared name), unreadable, cut, edited.
Sidecar read_sidecar(const std::string& cache, const std::string& name);

/// "digests of the tokens: <hex> (training), <hex> (validation)": what two preparations compare.
std::string digests_text(const Sidecar& sidecar);

/// Digests of a file as it lies on disk.
DigestedFile digest_file(const std::string& folder, const std::string& path);
/// What can be said without reading the file: empty, or that it is absent or of another length.
std::string length_damage(const std::string& folder, const DigestedFile& file);
/// Empty, or one line a damage: absent, cut, or the byte ranges of changed blocks.
std::vector<std::string> damages(const std::string& folder, const DigestedFile& file,
                                 bool thorough);
/// XXH3 over the tokens of spans, in order.
std::string token_digest(const std::vector<TokenSpan>& spans);
std::vector<TokenSpan> open_split(const std::string& folder, const Sidecar& sidecar,
                                  const SplitRecord& split);

}  // namespace normbench
