// The user's own JSON lines, plain or .zst: one document a line, its text under the key "text" (or
// another one); other keys are ignored. Streamed, in the order given. The split hangs on the
// document's text.
#include "data/corpus.h"

namespace normbench {
namespace {

class JsonlCorpus : public Corpus {
 public:
  JsonlCorpus(const JsonObject& options, const CorpusInput& input)
      : files_(options.required<std::vector<std::string>>("files")),
        key_(options.optional<std::string>("key", "text")),
        share_(input.validation_share) {
    options.finish();
    sources_ = file_sources(files_);
  }
  void for_each(const std::function<void(const Document&)>& f) const override {
    for (const auto& file : files_)
      for_each_line(file, [&](std::string_view line, int64_t number) {
        if (line.find_first_not_of(" \t") == std::string_view::npos) return;
        const auto fail = [&](const std::string& what, const std::string& found) {
          throw UserError({.what = what,
                           .where = file + ", line " + std::to_string(number),
                           .found = found,
                           .expected = "an object with a string under the key \"" + key_ + "\"",
                           .todo = "mend or remove the line"});
        };
        const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (json.is_discarded())
          fail("a line is no JSON (cut, or not UTF-8)",
               Json(line.substr(0, 60)).dump(-1, ' ', true, Json::error_handler_t::replace));
        if (!json.is_object()) fail("a line is no JSON object", json.type_name());
        const auto text = json.find(key_);
        if (text == json.end()) fail("a line has no text", "no key \"" + key_ + "\"");
        if (!text->is_string()) fail("the text of a line is no string", text->type_name());
        const auto& value = text->get_ref<const std::string&>();
        if (!value.empty()) f({split_of(value, share_), value});
      });
  }
  CorpusSources sources() const override { return sources_; }

 private:
  std::vector<std::string> files_;
  std::string key_;
  double share_;
  CorpusSources sources_;
};

}  // namespace

std::unique_ptr<Corpus> make_jsonl_corpus(const JsonObject& options, const CorpusInput& input) {
  return std::make_unique<JsonlCorpus>(options, input);
}

}  // namespace normbench
