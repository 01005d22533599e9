// open_dataset: a prepared data set, mapped into memory and checked. Apart from the code that
// prepares one, so that a training program needs neither SentencePiece nor libarchive.
#include <algorithm>

#include "data/batches.h"
#include "data/sidecar.h"
#include "suite/base/errors.h"
#include "suite/base/text.h"

namespace normbench {
namespace {

/// One split: spans in order, read as one stream.
class Stream {
 public:
  Stream(std::string what, std::vector<TokenSpan> spans)
      : what_(std::move(what)), spans_(std::move(spans)) {
    for (const auto& span : spans_) {
      begins_.push_back(size_);
      size_ += span.tokens;
    }
  }
  int64_t size() const { return size_; }
  void read(int64_t offset, int64_t count, int64_t* out) const {
    if (offset < 0 || count < 0 || offset > size_ || count > size_ - offset)
      throw UserError({.what = "tokens outside of the " + what_ + " split were asked for",
                       .found = std::to_string(count) + " from " + std::to_string(offset),
                       .expected = "inside of " + std::to_string(size_) + " tokens"});
    if (count == 0) return;
    auto i = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), offset) -
                                 begins_.begin()) -
             1;
    while (count > 0) {
      const int64_t inside = offset - begins_[i];
      const int64_t n = std::min(count, spans_[i].tokens - inside);
      if (n > 0) spans_[i].read(inside, n, out);
      out += n;
      offset += n;
      count -= n;
      ++i;
    }
  }

 private:
  std::string what_;
  std::vector<TokenSpan> spans_;
  std::vector<int64_t> begins_;
  int64_t size_ = 0;
};

class PreparedSource : public TokenSource {
 public:
  PreparedSource(const std::string& folder, Sidecar sidecar)
      : sidecar_(std::move(sidecar)),
        train_("training", open_split(folder, sidecar_, sidecar_.train)),
        validation_("validation", open_split(folder, sidecar_, sidecar_.validation)) {}
  int64_t vocabulary() const override { return sidecar_.vocabulary; }
  int64_t num_train_tokens() const override { return train_.size(); }
  int64_t num_validation_tokens() const override { return validation_.size(); }
  void read_train(int64_t offset, int64_t count, int64_t* out) const override {
    train_.read(offset, count, out);
  }
  void read_validation(int64_t offset, int64_t count, int64_t* out) const override {
    validation_.read(offset, count, out);
  }
  std::string train_digest() const override { return sidecar_.train.digest; }
  std::string validation_digest() const override { return sidecar_.validation.digest; }

 private:
  Sidecar sidecar_;
  Stream train_, validation_;
};

}  // namespace

std::unique_ptr<TokenSource> open_dataset(const std::string& name,
                                          const std::string& cache_folder) {
  const std::string folder = dataset_folder(cache_folder, name);
  Sidecar sidecar = read_sidecar(cache_folder, name);
  std::vector<std::string> found;
  for (const auto& file : sidecar.files)
    for (const auto& damage : damages(folder, file, /*thorough=*/false)) found.push_back(damage);
  if (!found.empty())
    throw UserError({.what = "the data set \"" + name + "\" is damaged",
                     .where = folder,
                     .found = join(found, "; "),
                     .todo = prepare_again(name, sidecar.spec)});
  return std::make_unique<PreparedSource>(folder, std::move(sidecar));
}

}  // namespace normbench
