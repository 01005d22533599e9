// Deterministic batches: which tokens a step sees is a pure function of (seed, step). Torch-free:
// spans of token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace normbench {

/// Token ids of one or several sequences, [num_sequences, T + 1] row-major: inputs are the first T,
/// targets the last T.
struct Batch {
  int64_t num_sequences = 0;
  int64_t context = 0;
  std::vector<int64_t> tokens;

  int64_t num_predicted() const { return num_sequences * context; }
};

/// A prepared data set: its shards are open and their digests were checked.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual int64_t vocabulary() const = 0;
  /// Tokens of the training and of the validation split, as one stream each (shards in order).
  virtual int64_t num_train_tokens() const = 0;
  virtual int64_t num_validation_tokens() const = 0;
  /// Copies `count` tokens from `offset` of a split; throws UserError outside.
  virtual void read_train(int64_t offset, int64_t count, int64_t* out) const = 0;
  virtual void read_validation(int64_t offset, int64_t count, int64_t* out) const = 0;
  /// XXH3 over the token values of a split (uint16 or uint32 as stored, all shards).
  virtual std::string train_digest() const = 0;
  virtual std::string validation_digest() const = 0;
};

/// Opens a data set below `cache` ("results/cache"); `name` is a key of data.json or the name of a
/// prepared user data set. Throws UserError (not prepared, cut shard, wrong digest: which file,
/// which byte range) and says the command that mends it.
std::unique_ptr<TokenSource> open_dataset(const std::string& name, const std::string& cache_folder);

/// Training batches. The stream is cut into windows of context + 1 tokens at stride `context`; the
/// order is a permutation keyed by (seed, epoch), so no window repeats before all were seen.
class Batches {
 public:
  Batches(const TokenSource& source, int64_t context, int64_t sequences_per_step, uint64_t seed);
  /// Sequences [first, first + count) of step `step` (0-based).
  Batch step(int64_t step, int64_t first, int64_t count) const;
  int64_t windows_per_epoch() const { return windows_; }

 private:
  const TokenSource& source_;
  int64_t context_, sequences_, windows_;
  uint64_t seed_;
};

/// The frozen validation slice: the first num_tokens / context windows of the validation split, in
/// order.
class ValidationSlice {
 public:
  /// num_tokens must be a multiple of context; throws UserError when the split is shorter.
  ValidationSlice(const TokenSource& source, int64_t context, int64_t num_tokens);
  int64_t num_windows() const { return windows_; }
  Batch windows(int64_t first, int64_t count) const;
  /// XXH3 over exactly the token ids that are evaluated (as int64).
  std::string digest() const;

 private:
  const TokenSource& source_;
  int64_t context_, windows_;
};

}  // namespace normbench
