// Every corpus, by name. One line each, sorted.
#include <algorithm>

#include "data/corpus.h"

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
  const std::string hint = nearest(name, corpus_names());
  throw UserError({.what = "unknown corpus",
                   .where = options.file(),
                   .found = "\"" + name + "\"",
                   .todo = hint.empty() ? "see data/registry.cpp for the names"
                                        : "did you mean \"" + hint + "\"?"});
}

}  // namespace normbench
