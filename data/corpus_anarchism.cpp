// "An Anarchist FAQ", from the Debian package anarchism (GPL-2): 11 MB of essays in continuous
// prose, the counterpart of the dictionary's rigid format. Fetched at preparation time; nothing of
// it is committed. Chosen for its bytes, not its opinions.
//
// Normalisation: the Markdown pages in the order of their names, paragraphs unwrapped and freed
// from markup (below); a long paragraph that was seen before goes; the rest is cut into chunks of
// some kilobytes. The split hangs on the chunk's text.
#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "data/corpus.h"
#include "data/package.h"
#include "suite/base/hash.h"

namespace normbench {
namespace {

constexpr int kFewestWords = 6;
constexpr size_t kLongParagraph = 200;  // bytes; shorter ones may repeat honestly

/// [text](target) becomes text; emphasis marks go; runs of blanks become one; a word cut after its
/// hyphen is joined.
std::string clean_paragraph(std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == '*' || c == '`' ||
        (c == '_' &&
         (i + 1 == raw.size() || i == 0 || !std::isalnum(static_cast<unsigned char>(raw[i - 1])) ||
          !std::isalnum(static_cast<unsigned char>(raw[i + 1])))))
      continue;
    if (c == '\\' && i + 1 < raw.size() && std::ispunct(static_cast<unsigned char>(raw[i + 1])))
      continue;
    if (c == ']' && i + 1 < raw.size() && raw[i + 1] == '(') {
      const size_t end = raw.find(')', i);
      const size_t open = out.rfind('[');
      if (end != std::string_view::npos && open != std::string::npos) {
        out.erase(open, 1);
        i = end;
        continue;
      }
    }
    if (c == ' ' || c == '\t' || c == '\n') {
      // The pages were wrapped at hyphens too: "co-" newline "operate".
      const bool hyphen = c == '\n' && out.size() >= 2 && out.back() == '-' &&
                          std::isalpha(static_cast<unsigned char>(out[out.size() - 2]));
      if (!out.empty() && out.back() != ' ' && !hyphen) out += ' ';
    } else {
      out += c;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  for (size_t at; (at = out.find("[ ")) != std::string::npos;)
    out.erase(at + 1, 1);  // "[ **Title** , p. 1]"
  for (size_t at; (at = out.find(" ,")) != std::string::npos;) out.erase(at, 1);
  return out;
}

int words(std::string_view line) {
  int n = 0;
  for (size_t i = 0; i < line.size(); ++i)
    if (std::isalpha(static_cast<unsigned char>(line[i])) && (i == 0 || line[i - 1] == ' ')) ++n;
  return n;
}

class AnarchismCorpus : public ShuffledCorpus {
 public:
  AnarchismCorpus(const JsonObject& options, const CorpusInput& input) {
    const auto package = options.required<std::string>("package");
    const auto version = options.required<std::string>("version");
    const auto sha256 = options.required<std::string>("sha256");
    const auto chunk_bytes = options.required<int64_t>("chunk_bytes");
    options.finish();
    const PackageFile deb = fetch_package(package, input.downloads_folder, input.deb);
    if (deb.sha256 != sha256)
      warnings_.push_back("the package file is not the one that data.json names (found " + package +
                          " " + deb.version + ", sha256 " + deb.sha256 + "; expected " + version +
                          ", " + sha256 + "); what counts is the digest of the text");
    sources_.push_back({{"package", package}, {"version", deb.version}, {"sha256", deb.sha256}});
    const auto pages = read_package(deb.path, [](const std::string& path) {
      return path.find("/markdown/") != std::string::npos &&
             (path.ends_with(".md") || path.ends_with(".md.gz"));
    });
    if (pages.empty())
      throw UserError({.what = "the package holds no Markdown pages",
                       .where = deb.path,
                       .expected = "markdown/*.md.gz"});
    int64_t replaced = 0;
    std::unordered_set<uint64_t> seen;
    for (const auto& [path, bytes] : pages) {
      const std::string page = valid_utf8(
          path.ends_with(".gz") ? gunzip(bytes, deb.path + ":" + path) : bytes, &replaced);
      // chunk_bytes / 2: the chunker closes at any line after twice its size, and these lines are
      // whole paragraphs.
      Chunker chunker(static_cast<size_t>(chunk_bytes / 2), Chunker::kWholeLines,
                      [&](std::string chunk) {
                        const Split split = split_of(chunk, input.validation_share);
                        documents_.push_back({split, std::move(chunk)});
                      });
      for (const auto& paragraph : markdown_paragraphs(page))
        if (paragraph.size() < kLongParagraph || seen.insert(xxh3_64(paragraph)).second)
          chunker.line(paragraph);
      chunker.finish();
    }
    shuffle_("anarchism");
  }
  CorpusSources sources() const override { return sources_; }
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  CorpusSources sources_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> markdown_paragraphs(std::string_view page) {
  std::vector<std::string> paragraphs;
  std::string raw;
  const auto end_paragraph = [&] {
    const std::string line = clean_paragraph(raw);
    const bool navigation =
        line.starts_with("\xE2\x80\xB9");  // a single left angle quote: links to the pages around
    if (words(line) >= kFewestWords && !navigation) paragraphs.push_back(line);
    raw.clear();
  };
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = std::min(page.find('\n', begin), page.size());
    auto line = page.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && (line.front() == '>' || line.front() == '#' || line.front() == ' ' ||
                             line.front() == '\t'))
      line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
      line.remove_suffix(1);
    const bool item = line.starts_with("* ") || line.starts_with("- ");
    const bool rule = line.find_first_not_of("-*_= |") == std::string_view::npos;
    if (rule || item) end_paragraph();
    if (rule) continue;
    if (item) line.remove_prefix(2);
    raw += line;
    raw += '\n';
  }
  end_paragraph();
  return paragraphs;
}

std::unique_ptr<Corpus> make_anarchism_corpus(const JsonObject& options, const CorpusInput& input) {
  return std::make_unique<AnarchismCorpus>(options, input);
}

}  // namespace normbench
