// A corpus: a stream of documents, each of which belongs to one split. One corpus = one file
// corpus_<name>.cpp and one line of registry.cpp. A corpus knows nothing about tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

enum class Split { kTrain, kValidation };

struct Document {
  Split split = Split::kTrain;
  std::string text;  // valid UTF-8, without a final newline
};

/// Where a corpus takes its bytes from, beside the options of data.json.
struct CorpusInput {
  std::string downloads_folder = {};  // packages are kept here
  std::string deb = {};               // a .deb given by hand; empty: fetch it
  double validation_share = 0.02;     // of the documents, decided by a hash of the key
};

/// What the sidecar says about where the text came from: {"package", "version", "sha256"} or
/// {"file", "bytes", "digest"}.
using CorpusSources = std::vector<Json>;

class Corpus {
 public:
  virtual ~Corpus() = default;
  /// Calls f for every document, always in the same order. May be called several times.
  virtual void for_each(const std::function<void(const Document&)>& f) const = 0;
  virtual CorpusSources sources() const { return {}; }
  /// Things that a reader should know ("the package has another revision").
  virtual std::vector<std::string> warnings() const { return {}; }
};

/// The split is a pure function of the key (a headword, a chunk of text): equal keys never lie on
/// both sides.
Split split_of(std::string_view key, double validation_share);

/// `text` with every invalid UTF-8 sequence replaced by U+FFFD; adds the number of replacements to
/// *replaced.
std::string valid_utf8(std::string_view text, int64_t* replaced);

/// Documents held in memory, in an order drawn from a fixed seed: a dictionary is alphabetical and
/// essays are grouped by subject, and a validation slice taken from the front would see one letter
/// or one subject.
class ShuffledCorpus : public Corpus {
 public:
  void for_each(const std::function<void(const Document&)>& f) const override;

 protected:
  void shuffle_(std::string_view name);
  std::vector<Document> documents_;
};

/// Cuts a stream of text into chunks of whole lines: a chunk ends with the first blank line after
/// `chunk_bytes`, or with any line after twice as many. Blank lines at its ends go; a line of more
/// than `longest_line` bytes is cut at a blank into chunks of its own.
class Chunker {
 public:
  static constexpr size_t kWholeLines = 1 << 20;
  Chunker(size_t chunk_bytes, size_t longest_line, std::function<void(std::string chunk)> f)
      : chunk_bytes_(chunk_bytes),
        longest_line_(std::max<size_t>(longest_line, 8)),  // a character has up to 4 bytes
        f_(std::move(f)) {}
  void line(std::string_view line);
  void finish();

 private:
  size_t chunk_bytes_, longest_line_;
  std::function<void(std::string)> f_;
  std::string chunk_;
};

/// Calls f(line, number) for every line of a file, without its end ("\n" or "\r\n"); a name ending
/// in ".zst" is decompressed on the way. `number` starts at 1. Throws UserError when the file is
/// absent or cut.
void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line, int64_t number)>& f);

/// {"file", "bytes", "digest"} of each file.
CorpusSources file_sources(const std::vector<std::string>& files);

// The corpora. Each reads its own options and throws UserError on an unknown one.
std::unique_ptr<Corpus> make_anarchism_corpus(const JsonObject& options, const CorpusInput& input);
std::unique_ptr<Corpus> make_gcide_corpus(const JsonObject& options, const CorpusInput& input);
std::unique_ptr<Corpus> make_jsonl_corpus(const JsonObject& options, const CorpusInput& input);
std::unique_ptr<Corpus> make_synthetic_corpus(const JsonObject& options, const CorpusInput& input);
std::unique_ptr<Corpus> make_text_corpus(const JsonObject& options, const CorpusInput& input);

/// By name, from the sorted list in registry.cpp. An unknown name throws UserError with the nearest
/// known one.
std::unique_ptr<Corpus> make_corpus(const std::string& name, const JsonObject& options,
                                    const CorpusInput& input);
std::vector<std::string> corpus_names();

/// The dictionary's normalisation, apart so that it can be tested on a few lines.
struct GcideEntry {
  std::string headword;  // lower case: the key of the split
  std::string text;
};
std::vector<GcideEntry> gcide_entries(std::string_view raw);

/// The paragraphs of a Markdown page as plain lines: unwrapped, without emphasis, quote marks,
/// links' targets and rules. Paragraphs of fewer than six words (headings, lists of links) are left
/// out.
std::vector<std::string> markdown_paragraphs(std::string_view page);

}  // namespace normbench
