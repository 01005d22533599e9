#include "data/batches.h"

#include "suite/base/errors.h"
#include "suite/base/hash.h"
#include "suite/base/random.h"

namespace normbench {

// A window at offset w * context holds context + 1 tokens: its last one is the first input of the
// next window, so every token is predicted once an epoch.
Batches::Batches(const TokenSource& source, int64_t context, int64_t sequences_per_step,
                 uint64_t seed)
    : source_(source), context_(context), sequences_(sequences_per_step), windows_(0), seed_(seed) {
  if (context < 1 || sequences_per_step < 1)
    throw UserError(
        {.what = "a batch needs a context and a number of sequences",
         .found = std::to_string(context) + " and " + std::to_string(sequences_per_step),
         .expected = "both at least 1"});
  windows_ = (source.num_train_tokens() - 1) / context;
  if (windows_ < 1)
    throw UserError({.what = "the training split is shorter than one window",
                     .found = std::to_string(source.num_train_tokens()) + " tokens",
                     .expected = "at least " + std::to_string(context + 1),
                     .todo = "prepare more text or choose a shorter context"});
}

Batch Batches::step(int64_t step, int64_t first, int64_t count) const {
  NORMBENCH_CHECK(step >= 0 && first >= 0 && count >= 0 && first + count <= sequences_,
                  "step " + std::to_string(step) + ", sequences " + std::to_string(first) + " + " +
                      std::to_string(count) + " of " + std::to_string(sequences_));
  Batch batch{count, context_, std::vector<int64_t>(static_cast<size_t>(count * (context_ + 1)))};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = step * sequences_ + first + i;  // of this sequence in the whole run
    const int64_t epoch = number / windows_;
    const Permutation order(static_cast<uint64_t>(windows_), seed_,
                            "batches/epoch/" + std::to_string(epoch));
    const auto window = static_cast<int64_t>(order(static_cast<uint64_t>(number % windows_)));
    source_.read_train(window * context_, context_ + 1, batch.tokens.data() + i * (context_ + 1));
  }
  return batch;
}

ValidationSlice::ValidationSlice(const TokenSource& source, int64_t context, int64_t num_tokens)
    : source_(source), context_(context), windows_(0) {
  if (context < 1 || num_tokens < context || num_tokens % context != 0)
    throw UserError({.what = "the validation slice must be whole windows",
                     .found = std::to_string(num_tokens) + " tokens",
                     .expected = "a positive multiple of the context " + std::to_string(context)});
  windows_ = num_tokens / context;
  if (num_tokens + 1 > source.num_validation_tokens())
    throw UserError(
        {.what = "the validation split is shorter than the slice",
         .found = std::to_string(source.num_validation_tokens()) + " tokens",
         .expected = "at least " + std::to_string(num_tokens + 1) + " (the last target included)",
         .todo = "choose fewer validation_tokens or prepare more text"});
}

Batch ValidationSlice::windows(int64_t first, int64_t count) const {
  NORMBENCH_CHECK(
      first >= 0 && count >= 0 && first + count <= windows_,
      std::to_string(first) + " + " + std::to_string(count) + " of " + std::to_string(windows_));
  Batch batch{count, context_, std::vector<int64_t>(static_cast<size_t>(count * (context_ + 1)))};
  for (int64_t i = 0; i < count; ++i)
    source_.read_validation((first + i) * context_, context_ + 1,
                            batch.tokens.data() + i * (context_ + 1));
  return batch;
}

std::string ValidationSlice::digest() const {
  std::vector<int64_t> ids(static_cast<size_t>(windows_ * context_ + 1));
  source_.read_validation(0, static_cast<int64_t>(ids.size()), ids.data());
  StreamHash hash;
  hash.update_values<int64_t>(ids);
  return hash.hex();
}

}  // namespace normbench
