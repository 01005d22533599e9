// The ledger for a terminal: claims first, then losses, tuned rates, deviations.
#include <algorithm>
#include <cctype>
#include <set>

#include "suite/base/text.h"
#include "suite/judge/ledger.h"
#include "suite/judge/ledger_probes.h"
#include "suite/judge/ledger_words.h"

namespace normbench {
namespace {

std::string claims_text(const Json& ledger, size_t width) {
  std::string text;
  std::string last_claim;
  int index = 0;
  for (const auto& verdict : ledger.at("claims")) {
    if (verdict.at("claim") != last_claim) {
      last_claim = verdict.at("claim");
      text += "\n" + wrap("[" + std::to_string(++index) + "] " +
                              verdict.at("statement").get<std::string>() + " (claim " + last_claim +
                              ", rule " + verdict.at("rule").get<std::string>() + ")",
                          width, "");
      if (const auto conditions = verdict.at("conditions").get<std::string>(); !conditions.empty())
        text += wrap("conditions: " + conditions, width, "    ");
      text += "    " + pad("text", 16) + pad("paper", 14) + pad("here", 11) +
              pad(interval_label(ledger, verdict), 20) + pad("pairs", 7) + "verdict\n";
    }
    // A long word shifts its row, and never touches the next one.
    const auto cell = [](const std::string& word, size_t cell_width) {
      return pad(word + " ", cell_width);
    };
    text += "    " + cell(verdict.at("dataset"), 16) + cell(paper_text(verdict), 14) +
            cell(here_text(verdict), 11) + cell(interval_text(verdict), 20) +
            pad(verdict.at("pairs").dump() + "/" + verdict.at("planned_pairs").dump(), 7) +
            verdict.at("verdict").get<std::string>() + "\n";
    text += wrap("why: " + verdict.at("reason").get<std::string>(), width, "      ");
    for (const auto& fact : verdict_facts(ledger, verdict)) text += wrap(fact, width, "      ");
  }
  return text;
}

// A column of labels: as wide as the longest of them, and a blank.
size_t label_width(const Json& ledger) {
  size_t longest = std::string("arm").size();  // above it
  for (const auto& arm : ledger.at("arms"))
    longest = std::max(longest, arm.at("label").get<std::string>().size());
  return longest + 1;
}

size_t dataset_width(const Json& ledger) {
  size_t longest = std::string("text").size();
  for (const auto& dataset : ledger.at("datasets"))
    longest = std::max(longest, dataset.get<std::string>().size());
  return longest + 1;
}

std::string losses_text(const Json& ledger, size_t width) {
  std::string text;
  constexpr size_t kCell = 17;
  // Labels stand behind "! " or two blanks, data sets above them without.
  const size_t label = std::max(2 + label_width(ledger), dataset_width(ledger));
  for (const auto& dataset : ledger.at("datasets")) {
    std::set<int64_t> budgets;
    for (const auto& row : ledger.at("losses"))
      if (row.at("dataset") == dataset) budgets.insert(row.at("budget").get<int64_t>());
    const std::vector<int64_t> all(budgets.begin(), budgets.end());
    const size_t per_block = width > label + kCell ? (width - label) / kCell : 1;
    for (size_t start = 0; start < all.size(); start += per_block) {
      const size_t end = std::min(all.size(), start + per_block);
      text += "\n" + pad(dataset.get<std::string>(), label);
      for (size_t i = start; i < end; ++i)
        text += pad(tokens_text(static_cast<double>(all[i])), kCell, true);
      text += "\n";
      for (const auto& arm : ledger.at("arms")) {
        const bool warns = !arm.at("warning").get<std::string>().empty();
        std::string line = pad((warns ? "! " : "  ") + arm.at("label").get<std::string>(), label);
        bool any = false;
        for (size_t i = start; i < end; ++i) {
          std::string cell = "-";
          for (const auto& row : ledger.at("losses"))
            if (row.at("dataset") == dataset && row.at("arm") == arm.at("name") &&
                row.at("budget") == all[i]) {
              any = true;
              if (row.at("mean").is_number()) cell = fixed(row.at("mean").get<double>(), 3);
              if (row.at("s").is_number()) {
                const std::string s = fixed(row.at("s").get<double>(), 3);
                cell += " +-" + (s.starts_with("0.") ? s.substr(1) : s);
              }
              if (row.at("diverged").get<int>() > 0)
                cell += " D" + row.at("diverged").dump();
              else
                cell += " " + row.at("n").dump();
            }
          line += pad(cell, kCell, true);
        }
        if (any) text += line + "\n";
      }
    }
    std::vector<std::string> speeds;
    for (const auto& row : ledger.at("step_times"))
      if (row.at("dataset") == dataset)
        speeds.push_back(
            arm_of(ledger, row.at("arm")).at("label").get<std::string>() + " " +
            number_text(row.at("relative"), 2) + " (" + number_text(row.at("low"), 2) + " to " +
            number_text(row.at("high"), 2) +
            (row.at("tokens_per_second").is_number()
                 ? "; " + tokens_text(row.at("tokens_per_second").get<double>()) + " tok/s"
                 : "") +
            ")");
    if (!speeds.empty())
      text += wrap("time of a token, relative to " + relative_to(ledger, "step_times", dataset) +
                       ", range over pairs of runs; median speed: " + join(speeds, ", "),
                   width, "  ");
    std::vector<std::string> costs;
    for (const auto& row : ledger.at("token_flops"))
      if (row.at("dataset") == dataset)
        costs.push_back(arm_of(ledger, row.at("arm")).at("label").get<std::string>() + " " +
                        number_text(row.at("relative"), 2) + " (" +
                        tokens_text(row.at("flops_per_token").get<double>()) + ")");
    if (!costs.empty())
      text += wrap("FLOPs of training on a token, relative to " +
                       relative_to(ledger, "token_flops", dataset) + ": " + join(costs, ", "),
                   width, "  ");
  }
  return text;
}

std::string warnings_text(const Json& ledger, size_t width) {
  std::string text;
  for (const auto& arm : ledger.at("arms"))
    if (const auto warning = arm.at("warning").get<std::string>(); !warning.empty())
      text += wrap("! " + arm.at("label").get<std::string>() + " is a warning row: " + warning,
                   width, "  ");
  return text;
}

std::string tuning_text(const Json& ledger, size_t width) {
  std::string text;
  if (ledger.at("tuning").empty()) {
    const auto source = ledger.at("peak_lr_source").get<std::string>();
    return wrap(source.empty() ? "no sweep at this tier: the rates are as the table file gives them"
                               : "rates from " + source,
                width, "  ");
  }
  const size_t label = label_width(ledger), dataset = dataset_width(ledger);
  text += "  " + pad("arm", label) + pad("text", dataset) + pad("tokens", 9, true) +
          pad("trials", 8, true) + pad("grid", 19, true) + pad("best", 9, true) +
          pad("chosen", 9, true) + "\n";
  for (const auto& row : ledger.at("tuning")) {
    const auto& trials = row.at("trials");
    const std::string grid = trials.empty() ? "-"
                                            : trials.front().at("peak_lr").dump() + " .. " +
                                                  trials.back().at("peak_lr").dump();
    text += "  " + pad(arm_of(ledger, row.at("arm")).at("label"), label) +
            pad(row.at("dataset"), dataset) +
            pad(tokens_text(row.at("budget").get<double>()), 9, true) +
            pad(row.at("num_trials").dump(), 8, true) + pad(grid, 19, true) +
            pad(rate_text(row.at("best_lr")), 9, true) +
            pad(rate_text(row.at("chosen_lr")), 9, true) + "\n";
    for (const auto& problem : row.at("problems"))
      text += wrap("! " + problem.get<std::string>(), width, "      ");
    for (const auto& doubt : row.at("doubts"))
      text += wrap("? " + doubt.get<std::string>(), width, "      ");
  }
  return text;
}

std::string measurements_text(const Json& ledger, size_t width) {
  std::string text;
  for (const auto& measurement : ledger.at("measurements")) {
    text += wrap(measurement.at("label").get<std::string>() + " (" +
                     measurement.at("name").get<std::string>() + ")",
                 width, "  ");
    for (const auto& fact : measurement_facts(measurement)) text += wrap(fact, width, "      ");
  }
  return text;
}

// Every column as wide as its longest cell.
std::string columns_text(const ShownTable& table, size_t width) {
  std::vector<size_t> widths;
  for (const auto& column : table.columns) widths.push_back(column.size());
  for (const auto& row : table.rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = " ";
    for (size_t i = 0; i < cells.size(); ++i)
      text += " " + (i + 1 < cells.size() ? pad(cells[i], widths[i] + 1) : cells[i]);
    return text + "\n";
  };
  std::string text = line(table.columns);
  for (const auto& row : table.rows) text += line(row);
  if (!table.note.empty()) text += wrap(table.note, width, "  ");
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string heading(const std::string& text) {
  return "\n" + text + "\n" + std::string(text.size(), '-') + "\n";
}

}  // namespace

std::string ledger_text(const Json& ledger, size_t width) {
  const Json &records = ledger.at("records"), &sweep = ledger.at("sweep_records");
  const std::string name =
      ledger.at("paper").get<std::string>() + "." + ledger.at("table").get<std::string>();
  std::string text = std::string(width, '=') + "\n";
  text += wrap(name + ", tier " + ledger.at("tier").get<std::string>() + ": " +
                   ledger.at("title").get<std::string>(),
               width, "");
  text += std::string(width, '=') + "\n";
  const auto line = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    std::string wrapped = wrap(value, width, "           ");
    wrapped.replace(0, key.size(), key);
    text += wrapped;
  };
  line("source", source_text(ledger));
  line("model", ledger.at("size"));
  line("runs", runs_text(ledger));
  line("classes", join(ledger.at("numeric_classes").get<std::vector<std::string>>(), ", "));
  line("baseline", ledger.at("baseline"));
  line("verdicts", verdicts_text(ledger));

  text += heading(
      "CLAIMS  paper | here | verdict  (docs/method.md says how a number becomes a verdict)");
  text += claims_text(ledger, width);
  if (has_star(ledger))
    text +=
        "\n  * shown, but not part of the verdict (for a speed-up: this budget times the claimed "
        "ratio lies\n    outside the ladder)\n";
  const std::string losses = losses_text(ledger, width);  // none where only rates are swept
  if (!losses.empty())
    text += heading(
                "VALIDATION LOSS  nats per token, mean +- sd over seeds, number of runs (D: "
                "diverged)") +
            losses;
  text += warnings_text(ledger, width);
  for (const auto& table : shown_tables(ledger)) {
    text += heading(upper(table.title) + "  " + table.explanation);
    text += columns_text(table, width);
  }
  if (ledger.contains("measurements")) {
    text += heading("MEASUREMENTS  mean over the seeds (least .. most)");
    text += measurements_text(ledger, width);
  }
  if (ledger.contains("probes")) {
    text += heading(
        "PROBES  mean over the seeds (each seed), by layer where there are several numbers");
    for (const auto& entry : ledger.at("probes")) {
      text += wrap(arm_of(ledger, entry.at("arm")).at("label").get<std::string>() + ", " +
                       entry.at("dataset").get<std::string>() + ", " +
                       tokens_text(entry.at("budget").get<double>()) + " tokens, " +
                       count_text(entry.at("n").get<size_t>(), "seed"),
                   width, "  ");
      for (const auto& fact : probe_facts(entry)) text += wrap(fact, width, "      ");
    }
  }
  text += heading("TUNED LEARNING RATES");
  text += tuning_text(ledger, width);
  const auto faults = [&](const Json& of, const std::string& what) {
    constexpr size_t kShown = 8;
    const Json& list = of.at("unusable");
    if (list.empty()) return;
    text += heading(what);
    for (size_t i = 0; i < std::min(kShown, list.size()); ++i) text += wrap(list[i], width, "  ");
    if (list.size() > kShown) text += "  and " + std::to_string(list.size() - kShown) + " more\n";
  };
  faults(records, "RUNS THAT CANNOT BE READ");
  faults(sweep, "TRIALS THAT CANNOT BE READ");
  const auto entries = [&](const char* key, const std::string& title,
                           const std::vector<const char*>& fields) {
    const Json& list = ledger.at(key);
    if (!list.is_array() || list.empty()) return;
    text += heading(title);
    for (const auto& entry : list) {
      std::vector<std::string> said;
      for (const char* field : fields)
        if (entry.is_object() && entry.contains(field) && entry[field].is_string())
          said.push_back(std::string(field == std::string("what") ? "" : field) +
                         (field == std::string("what") ? "" : ": ") +
                         entry[field].get<std::string>());
      text += wrap("- " + (entry.is_string() ? entry.get<std::string>() : join(said, "; ")), width,
                   "  ");
    }
  };
  entries("deviations", "DEVIATIONS FROM THE PAPER", {"what", "paper", "here", "why"});
  entries("not_tested", "NOT TESTED", {"what", "why"});
  return text;
}

}  // namespace normbench
