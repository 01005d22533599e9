// Every corpus, by name. One line each, sorted.
#include <algorithm>

#include "data/corpus.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

struct CorpusEntry {
  const char* name;
  std::unique_ptr<Corpus> (*make)(const JsonObject& options, const CorpusInput& input);
};
constexpr CorpusEntry kCorpora[] = {
    {"anarchism", make_anarchism_corpus}, {"gcide", make_gcide_corpus},
    {"jsonl", make_jsonl_corpus},         {"synthetic", make_synthetic_corpus},
    {"text", make_text_corpus},
};

}  // namespace

std::vector<std::string> corpus_names() {
  std::vector<std::string> names;
  for (const auto& entry : kCorpora) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Corpus> make_corpus(const std::string& name, const JsonObject& options,
                                    const CorpusInput& input) {
  for (const auto& entry : kCorpora)
    if (name == entry.name) return entry.make(options, input);
  throw UserError({.what = "unknown corpus",
                   .where = options.file(),
                   .found = "\"" + name + "\"",
                   .expected = one_of(corpus_names()),
                   .todo = did_you_mean(name, corpus_names())});
}

}  // namespace normbench
