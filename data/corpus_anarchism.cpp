#include "data/corpus.h"
namespace normbench {
std::unique_ptr<Corpus> make_anarchism_corpus(const JsonObject&, const CorpusInput&) { throw UserError({.what = "x"}); }
std::unique_ptr<Corpus> make_text_corpus(const JsonObject&, const CorpusInput&) { throw UserError({.what = "x"}); }
std::unique_ptr<Corpus> make_jsonl_corpus(const JsonObject&, const CorpusInput&) { throw UserError({.what = "x"}); }
}
