// The user's own plain text files, in the order given, cut into chunks of some kilobytes at blank
// lines. Streamed: a file may be larger than memory. The order of the text is kept; the split hangs
// on the chunk's text.
#include "data/corpus.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

class TextCorpus : public Corpus {
 public:
  TextCorpus(const JsonObject& options, const CorpusInput& input)
      : files_(options.required<std::vector<std::string>>("files")),
        chunk_bytes_(options.optional<int64_t>("chunk_bytes", 4096)),
        share_(input.validation_share) {
    options.finish();
    if (chunk_bytes_ < 1)
      options.fail("chunk_bytes", "a chunk needs a size", std::to_string(chunk_bytes_),
                   "at least 1");
    sources_ = file_sources(files_);
  }
  void for_each(const std::function<void(const Document&)>& f) const override {
    int64_t replaced = 0;
    for (const auto& file : files_) {
      const auto chunk_bytes = static_cast<size_t>(chunk_bytes_);
      Chunker chunker(chunk_bytes, /*longest_line=*/2 * chunk_bytes, [&](std::string chunk) {
        const Split split = split_of(chunk, share_);
        f({split, std::move(chunk)});
      });
      for_each_line(
          file, [&](std::string_view line, int64_t) { chunker.line(valid_utf8(line, &replaced)); });
      chunker.finish();
    }
    if (replaced > 0 && !warned_)
      log_warning(std::to_string(replaced) +
                  " bytes of the text are not UTF-8 and were replaced by U+FFFD");
    warned_ = true;
  }
  CorpusSources sources() const override { return sources_; }

 private:
  std::vector<std::string> files_;
  int64_t chunk_bytes_;
  double share_;
  CorpusSources sources_;
  mutable bool warned_ = false;  // for_each runs twice
};

}  // namespace

std::unique_ptr<Corpus> make_text_corpus(const JsonObject& options, const CorpusInput& input) {
  return std::make_unique<TextCorpus>(options, input);
}

}  // namespace normbench
