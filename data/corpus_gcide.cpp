// The GNU Collaborative International Dictionary of English, from the Debian package dict-gcide
// (GPL-2+): definitions and 78,000 attributed quotations, plain ASCII. Fetched at preparation time;
// nothing of it is committed.
//
// Normalisation: skip the notices before the entry "A \A\"; an entry runs from a line at column 0
// after a blank line to the next such line; blank lines part paragraphs, each of which becomes one
// line; source marks such as [1913 Webster] and the braces of cross-references go; entries below 21
// bytes go. Entries that share a headword lie on the same side of the split.
#include <array>
#include <cctype>

#include "data/corpus.h"
#include "data/package.h"
#include "suite/base/log.h"

namespace normbench {
namespace {

constexpr size_t kShortestEntry = 21;  // shorter ones are cross-references without a sentence

// clang-format off
constexpr std::array<std::string_view, 20> kSourceNames = {
    "Webster 1913 Suppl.", "1913 Webster", "WordNet sense", "WordNet 1.5", "WordNet 1.6", "Century Dict. 1906", "Century Dict.", "Stormonth", "Jargon",
    "FOLDOC", "PJC.", "PJC", "RDH", "AS", "GG", "WN", "MW10", "RP", "ER", "DRW"};
// clang-format on

/// True for the inside of a source mark: only source names, digits, blanks, "+", ",", ";" and "&".
bool is_source_mark(std::string_view inside) {
  bool any = false;
  while (!inside.empty()) {
    bool taken = false;
    for (const auto name : kSourceNames)
      if (inside.starts_with(name)) {
        inside.remove_prefix(name.size());
        any = taken = true;
        break;
      }
    if (taken) continue;
    const char c = inside.front();
    if (c != ' ' && c != '+' && c != ',' && c != ';' && c != '&' && !(any && c >= '0' && c <= '9'))
      return false;
    inside.remove_prefix(1);
  }
  return any;
}

/// One paragraph: marks and braces removed, runs of blanks made one.
std::string clean_paragraph(std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '{' || c == '}') continue;
    if (c == '[') {
      const size_t end = raw.find(']', i);
      std::string inside(raw.substr(i + 1, end == std::string_view::npos ? 0 : end - i - 1));
      for (char& d : inside)
        if (d == '\n') d = ' ';
      if (end != std::string_view::npos && is_source_mark(inside)) {
        i = end;
        continue;
      }
    }
    if (c == '\n' || c == '\t' || c == ' ') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += c;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// What stands before the respelling in backslashes, or before the first comma or bracket.
std::string headword_of(std::string_view text) {
  const size_t end = text.find_first_of("\\,([;\n");
  std::string word(text.substr(0, end));
  while (!word.empty() && word.back() == ' ') word.pop_back();
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

class GcideCorpus : public ShuffledCorpus {
 public:
  GcideCorpus(const JsonObject& options, const CorpusInput& input) {
    const auto package = options.required<std::string>("package");
    const auto version = options.required<std::string>("version");
    const auto sha256 = options.required<std::string>("sha256");
    options.finish();
    const PackageFile deb = fetch_package(package, input.downloads_folder, input.deb);
    if (deb.sha256 != sha256)
      warnings_.push_back("the package file is not the one that data.json names (found " + package +
                          " " + deb.version + ", sha256 " + deb.sha256 + "; expected " + version +
                          ", " + sha256 + "); what counts is the digest of the text");
    sources_.push_back({{"package", package}, {"version", deb.version}, {"sha256", deb.sha256}});
    const auto files = read_package(
        deb.path, [](const std::string& path) { return path.ends_with("/gcide.dict.dz"); });
    if (files.size() != 1)
      throw UserError({.what = "the package holds no dictionary",
                       .where = deb.path,
                       .found = std::to_string(files.size()) + " files gcide.dict.dz",
                       .expected = "one"});
    int64_t replaced = 0;
    const std::string raw =
        valid_utf8(gunzip(files[0].second, deb.path + ":" + files[0].first), &replaced);
    for (auto& entry : gcide_entries(raw))
      documents_.push_back(
          {split_of(entry.headword, input.validation_share), std::move(entry.text)});
    shuffle_("gcide");
  }
  CorpusSources sources() const override { return sources_; }
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  CorpusSources sources_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<GcideEntry> gcide_entries(std::string_view raw) {
  std::vector<GcideEntry> entries;
  size_t begin = raw.starts_with("A \\A\\") ? 0 : raw.find("\nA \\A\\");
  if (begin == std::string_view::npos)
    throw UserError({.what = "this is not the text of the dictionary",
                     .found = "no entry \"A \\A\\\"",
                     .expected = "the file gcide.dict of the package dict-gcide"});
  if (raw[begin] == '\n') ++begin;
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    const std::string line = clean_paragraph(paragraph);
    if (!line.empty()) text += (text.empty() ? "" : "\n") + line;
    paragraph.clear();
  };
  const auto end_entry = [&] {
    end_paragraph();
    if (text.size() >= kShortestEntry) entries.push_back({headword_of(text), text});
    text.clear();
  };
  bool after_blank = true;
  while (begin < raw.size()) {
    const size_t end = std::min(raw.find('\n', begin), raw.size());
    const auto line = raw.substr(begin, end - begin);
    begin = end + 1;
    const bool blank = line.find_first_not_of(" \t") == std::string_view::npos;
    if (blank) {
      end_paragraph();
    } else {
      if (after_blank && line[0] != ' ' && line[0] != '\t') end_entry();
      paragraph += line;
      paragraph += '\n';
    }
    after_blank = blank;
  }
  end_entry();
  return entries;
}

std::unique_ptr<Corpus> make_gcide_corpus(const JsonObject& options, const CorpusInput& input) {
  return std::make_unique<GcideCorpus>(options, input);
}

}  // namespace normbench
