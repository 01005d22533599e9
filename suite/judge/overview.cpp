#include "suite/judge/overview.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/ledger_words.h"

namespace normbench {
namespace {

/// In a cell of a table a bar would begin the next one.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return " " + escaped + " |";
}

std::string with_unit(const std::string& text, const Json& verdict) {
  const std::string unit = verdict.at("here").at("unit");
  return text != "-" && (unit == "nats" || unit == "tokens") ? text + " " + unit : text;
}

std::string row_of(const Json& verdict) {
  std::string row = "|";
  row += cell(verdict.at("statement").get<std::string>() + " (`" +
              verdict.at("claim").get<std::string>() + "`)");
  row += cell(verdict.at("dataset"));
  row += cell(with_unit(paper_text(verdict), verdict));
  row += cell(with_unit(here_text(verdict), verdict));
  row += cell(interval_text(verdict));
  row += cell(verdict.at("verdict").get<std::string>() +
              (verdict.value("alone_only", false) ? " *" : ""));
  return row + "\n";
}

std::string section_of(const Json& ledger, const std::string& folder) {
  const std::string name =
      ledger.at("paper").get<std::string>() + "." + ledger.at("table").get<std::string>();
  const std::string title = ledger.at("title");
  std::string text = "\n## " + name + ", tier " + ledger.at("tier").get<std::string>() + "\n\n" +
                     title + (title.ends_with('?') ? " [Ledger](" : ". [Ledger](") + folder +
                     "/ledger.txt), runs: " + runs_text(ledger) + ".\n";
  if (ledger.at("claims").empty()) return text + "\nNo claim is judged here.\n";
  text += "\n| claim | text | paper | here | interval or range | verdict |\n";
  text += "|--|--|--|--|--|--|\n";
  for (const auto& verdict : ledger.at("claims")) text += row_of(verdict);
  return text;
}

}  // namespace

std::string overview_page(const std::string& published) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(published))
    if (fs::exists(entry.path() / "ledger.json"))
      folders.push_back(entry.path().filename().string());
  std::sort(folders.begin(), folders.end());
  std::string text =
      "# What came out so far\n\n"
      "`normbench publish` writes this page from the ledgers below; each has the reason of a "
      "verdict, its budgets, its seeds, its power and what differs from the paper; the "
      "[README](../../README.md) says what the words mean. An effect holds at its tier and on its "
      "text. In nats, the lead of an order or the growth of a gap is positive where the claim "
      "holds; parity and other differences of losses are positive where the first arm is worse. "
      "Ranges are those of a grid where a claim is about learning rates.\n\n"
      "\\*: asked alone it stands; among all verdicts with a p of its table it does not (Holm).\n";
  for (const auto& folder : folders)
    text += section_of(read_json(published + "/" + folder + "/ledger.json"), folder);
  return text;
}

}  // namespace normbench
