#include "suite/judge/ledger_words.h"

#include <algorithm>
#include <map>

#include "suite/base/text.h"
#include "suite/judge/loss_curve.h"
#include "suite/judge/statistics.h"

namespace normbench {

const Json& arm_of(const Json& ledger, const std::string& name) {
  for (const auto& arm : ledger.at("arms"))
    if (arm.at("name") == name) return arm;
  throw UserError({.what = "the ledger has no such arm", .found = name});
}

std::string who_text(const Json& ledger, const Json& verdict) {
  const auto label = [&](const Json& arm) { return arm_of(ledger, arm).at("label"); };
  if (verdict.contains("measurement")) {
    for (const auto& measurement : ledger.at("measurements"))
      if (measurement.at("name") == verdict["measurement"])
        return measurement.at("label").get<std::string>();
    return verdict["measurement"].get<std::string>();
  }
  if (!verdict.contains("arms"))
    return label(verdict.at("challenger")).get<std::string>() + " against " +
           label(verdict.at("reference")).get<std::string>();
  std::vector<std::string> labels;
  for (const auto& arm : verdict["arms"]) labels.push_back(label(arm));
  return (labels.size() > 1 ? "the order " : "") + join(labels, ", ");
}

std::string rate_text(const Json& rate) {
  return rate.is_number() && rate.get<double>() > 0 ? rate.dump() : "-";
}

std::vector<std::string> measurement_facts(const Json& measurement) {
  std::map<std::string, std::vector<double>> values;
  std::vector<std::string> facts;
  for (const auto& run : measurement.at("runs")) {
    if (run.at("values").is_null())
      facts.push_back("seed " + run.at("seed").dump() + ": not measured");
    else
      for (const auto& [name, value] : run.at("values").items())
        values[name].push_back(value.get<double>());
  }
  for (const auto& [name, list] : values) {
    const auto [least, most] = std::minmax_element(list.begin(), list.end());
    facts.push_back(
        name + " " + plain_text(mean(list)) +
        (list.size() > 1 ? " (" + plain_text(*least) + " .. " + plain_text(*most) + ")" : ""));
  }
  return facts;
}

std::string number_text(const Json& value, int digits) {
  return value.is_number() ? fixed(value.get<double>(), digits) : "open";
}

std::string unit_text(const Json& value, const std::string& unit, int nats_digits) {
  if (!value.is_number()) return "open";
  const double x = value.get<double>();
  if (unit == "x") return fixed(x, 2) + "x";
  if (unit == "%") return fixed(x, 2) + " %";
  if (unit == "tokens") return tokens_text(x);
  if (unit.empty()) return plain_text(x);
  return fixed(x, nats_digits);
}

namespace {

// Of a row of the verdict: enough to tell the ends of its interval from the margin that they are
// compared with.
int row_digits(const Json& verdict, const Json& row) {
  int digits = 3;
  if (verdict.at("rule") != "non_inferiority") return digits;
  for (const char* end : {"low", "high"})
    if (row.at(end).is_number())
      digits = std::max(digits, digits_apart(row.at(end).get<double>(),
                                             verdict.at("detail").at("margin").get<double>(), 3));
  return digits;
}

std::string ends_text(const Json& row, const std::string& unit, int nats_digits = 3) {
  if (!row.at("low").is_number() && !row.at("high").is_number()) return "-";
  return unit_text(row.at("low"), unit, nats_digits) + " .. " +
         unit_text(row.at("high"), unit, nats_digits);
}

}  // namespace

std::string paper_text(const Json& verdict) {
  const Json& paper = verdict.at("paper");
  if (verdict.at("rule") == "non_inferiority")
    return "margin " + fixed(verdict.at("detail").at("margin").get<double>(),
                             row_digits(verdict, verdict.at("here")));
  if (!paper.is_object()) return "-";
  if (verdict.at("rule") == "below_unigram")
    return "< " + fixed(paper.at("value").get<double>(), 3);
  if (paper.contains("diverged")) return "diverges";
  if (verdict.at("rule") == "exact_identity")
    return "<= " + plain_text(paper.at("value").get<double>());
  return unit_text(paper.at("value"), verdict.at("here").at("unit"));
}

std::string here_text(const Json& verdict) {
  const Json& here = verdict.at("here");
  if (!here.at("estimate").is_number()) return "-";
  const std::string bound = here.at("bound");
  return (bound == "open" ? "open, ~" : bound) +
         unit_text(here.at("estimate"), here.at("unit"), row_digits(verdict, here));
}

std::string interval_label(const Json& ledger, const Json& verdict) {
  if (verdict.at("rule") == "lr_tolerance") return "grid range";
  return "interval " + fixed(100 * (1 - ledger.at("alpha").get<double>()), 0) + " %";
}

std::string interval_text(const Json& verdict) {
  const Json& here = verdict.at("here");
  return ends_text(here, here.at("unit"), row_digits(verdict, here));
}

namespace {

std::string p_text(const Json& p) {
  if (!p.is_number()) return "-";
  return p.get<double>() < 1e-4 ? "< .0001" : fixed(p.get<double>(), 4);
}

std::string budgets_text(const Json& verdict) {
  std::vector<std::string> parts;
  for (const auto& row : verdict.at("per_budget")) {
    if (!row.at("estimate").is_number()) continue;
    const std::string unit = row.value("unit", verdict.at("here").at("unit").get<std::string>());
    const std::string bound = row.at("bound"),
                      budget = tokens_text(row.at("budget").get<double>()) +
                               (row.at("counts").get<bool>() ? " " : "* ");
    if (bound == "open") {
      parts.push_back(budget + "off both ends of the ladder");
      continue;
    }
    const int digits = row_digits(verdict, row);
    parts.push_back(budget + bound + unit_text(row.at("estimate"), unit, digits) +
                    (row.at("low").is_number() || row.at("high").is_number()
                         ? " (" + ends_text(row, unit, digits) + ")"
                         : ""));
  }
  return join(parts, ", ");
}

// "a token takes anGPT 1.12 times as long (1.05 to 1.20 in 20 pairs of whole runs; ...)".
std::string time_ratio_text(const Json& ledger, const Json& verdict) {
  const Json& ratio = verdict.at("seconds").at("time_ratio");
  return "a token takes " +
         arm_of(ledger, verdict.at("challenger")).at("label").get<std::string>() + " " +
         number_text(ratio.at("estimate"), 2) + " times as long (" +
         number_text(ratio.at("low"), 2) + " to " + number_text(ratio.at("high"), 2) + " in " +
         count_text(ratio.at("pairs").get<size_t>(), "pair") +
         " of whole runs; at equal work the runs of the more uneven arm are a factor " +
         number_text(ratio.at("spread"), 2) +
         " off their median on the average; a drift that goes with the arm is not in it)";
}

}  // namespace

std::vector<std::string> verdict_facts(const Json& ledger, const Json& verdict) {
  std::vector<std::string> facts;
  const std::string unit = verdict.at("here").at("unit");
  if (const auto budgets = budgets_text(verdict); !budgets.empty())
    facts.push_back("by budget: " + budgets);
  if (const Json& seconds = verdict.at("seconds");
      seconds.is_object() && seconds.at("estimate").is_number())
    facts.push_back("in seconds: " + seconds.at("bound").get<std::string>() +
                    unit_text(seconds.at("estimate"), "x") + " (" + ends_text(seconds, "x") +
                    "); " + time_ratio_text(ledger, verdict));
  if (const Json flops = verdict.value("detail", Json::object()).value("flops", Json());
      flops.is_object() && flops.at("estimate").is_number())
    facts.push_back("in FLOPs: " + flops.at("bound").get<std::string>() +
                    unit_text(flops.at("estimate"), "x") + " (" + ends_text(flops, "x") +
                    "); a token costs " +
                    tokens_text(flops.at("per_token").at("challenger").get<double>()) + " and " +
                    tokens_text(flops.at("per_token").at("reference").get<double>()) + " of them");
  if (const Json& own = verdict.at("paper_estimator"); own.is_object()) {
    std::vector<std::string> parts;
    for (const auto& row : own.at("per_budget"))
      if (row.at("ratio").is_number())
        parts.push_back(tokens_text(row.at("budget").get<double>()) + " " +
                        unit_text(row.at("ratio"), "x") +
                        (row.at("extrapolated").get<bool>() ? " (extrapolated)" : ""));
    if (!parts.empty())
      facts.push_back(
          "the paper's own estimator (linear chords, mean losses): " + join(parts, ", ") +
          (own.at("headline").is_number()
               ? "; mean over its range " + unit_text(own.at("headline"), "x")
               : ""));
  }
  if (const Json& smooth = verdict.at("smooth"); smooth.is_object())
    facts.push_back("rungs joined by a smooth curve instead of chords: " +
                    unit_text(smooth.at("estimate"), "x") + ", " +
                    smooth.at("statistics_say").get<std::string>());
  std::vector<std::string> small, trials;
  if (verdict.at("detectable").is_number())
    small.push_back("smallest effect found with 80 % power: " +
                    unit_text(verdict.at("detectable"), unit) + (unit == "nats" ? " nats" : ""));
  if (verdict.at("p_value").is_number())
    small.push_back(
        std::string(verdict.at("rule") == "non_inferiority" ? "p of worse by the margin "
                                                            : "p of no effect ") +
        p_text(verdict.at("p_value")) + ", Holm over the table " + p_text(verdict.at("p_holm")));
  for (auto it = verdict.at("trials").begin(); it != verdict.at("trials").end(); ++it)
    trials.push_back(arm_of(ledger, it.key()).at("label").get<std::string>() + " " +
                     it.value().dump());
  if (!trials.empty()) small.push_back("learning-rate trials: " + join(trials, ", "));
  std::vector<std::string> seeds;
  for (const auto& seed : verdict.at("seeds")) seeds.push_back(seed.dump());
  if (!seeds.empty()) small.push_back("seeds " + join(seeds, " "));
  if (!small.empty()) facts.push_back(join(small, "; "));
  if (verdict.contains("facts"))
    for (const auto& fact : verdict["facts"]) facts.push_back(fact);
  for (const auto& note : verdict.at("notes")) facts.push_back("note: " + note.get<std::string>());
  for (const auto& run : verdict.at("diverged"))
    facts.push_back("diverged: " + run.get<std::string>());
  return facts;
}

bool has_star(const Json& ledger) {
  for (const auto& verdict : ledger.at("claims"))
    for (const auto& row : verdict.at("per_budget"))
      if (row.at("estimate").is_number() && !row.at("counts").get<bool>()) return true;
  return false;
}

std::string relative_to(const Json& ledger, const char* rows, const Json& dataset) {
  // suite/judge/ledger.cpp: the yardstick where it has a row, else the first arm that has one.
  const std::string yardstick =
      ledger.contains("equal_loss") ? ledger["equal_loss"].value("yardstick", "") : "";
  std::string first;
  for (const auto& row : ledger.at(rows)) {
    if (row.at("dataset") != dataset) continue;
    const std::string label = arm_of(ledger, row.at("arm")).at("label");
    if (row.at("arm") == yardstick) return label;
    if (first.empty()) first = label;
  }
  return first;
}

namespace {

// "1.35x (1.20x .. 1.50x)"; without the interval where it is the one of the tokens times a number.
std::string ratio_text(const Json& ratio, bool with_interval) {
  if (!ratio.is_object() || !ratio.at("estimate").is_number()) return "-";
  if (ratio.at("bound") == "open") return "off both ends";
  const bool interval = ratio.at("low").is_number() || ratio.at("high").is_number();
  return ratio.at("bound").get<std::string>() + unit_text(ratio.at("estimate"), "x") +
         (interval && with_interval ? " (" + ends_text(ratio, "x") + ")" : "");
}

ShownTable equal_loss_table(const Json& ledger) {
  const Json& equal = ledger.at("equal_loss");
  const auto label = [&](const Json& arm) {
    return arm_of(ledger, arm).at("label").get<std::string>();
  };
  ShownTable table{
      "Equal loss",
      "what " + label(equal.at("yardstick")) + " needs for an arm's final loss / what the arm took",
      {"arm", "text", "budget", "in tokens", "FLOPs", "in seconds", "pairs", ""},
      {}};
  bool at_last_rung = false;
  for (const auto& row : equal.at("rows")) {
    at_last_rung = at_last_rung || row.at("at_last_rung").get<bool>();
    table.rows.push_back({label(row.at("arm")), row.at("dataset"),
                          tokens_text(row.at("budget").get<double>()) +
                              (row.at("at_last_rung").get<bool>() ? "*" : ""),
                          ratio_text(row.at("tokens"), true), ratio_text(row.at("flops"), false),
                          ratio_text(row.at("seconds"), true), row.at("n").dump(),
                          row.at("untuned")});
  }
  std::vector<std::string> notes;
  if (at_last_rung)
    notes.push_back("*: the ladder of " + label(equal.at("yardstick")) +
                    " ends there, so that in tokens a better arm shows \">= 1\" at most");
  if (const double step = equal.at("widest_step"); step > kWideStep)
    notes.push_back(wide_step_text(step));
  table.note = join(notes, "; ");
  return table;
}

ShownTable stable_rates_table(const Json& ledger) {
  const Json& stable = ledger.at("stable_rates");
  ShownTable table{"Largest stable rates",
                   "within " + plain_text(stable.at("within_nats").get<double>()) +
                       " nats of the arm's best loss, every arm of the sweep",
                   {"arm", "text", "tokens", "seed", "stable up to", "not at", "best", "loss", ""},
                   {}};
  const auto text = [](const Json& value) { return value.is_number() ? value.dump() : "-"; };
  for (const auto& row : stable.at("rows"))
    table.rows.push_back({arm_of(ledger, row.at("arm")).at("label"), row.at("dataset"),
                          tokens_text(row.at("budget").get<double>()), row.at("seed").dump(),
                          text(row.at("stable")), text(row.at("unstable")), text(row.at("best_lr")),
                          number_text(row.at("best_loss"), 3), row.at("untuned")});
  return table;
}

}  // namespace

std::vector<ShownTable> shown_tables(const Json& ledger) {
  std::vector<ShownTable> tables;
  if (ledger.contains("equal_loss")) tables.push_back(equal_loss_table(ledger));
  if (ledger.contains("stable_rates")) tables.push_back(stable_rates_table(ledger));
  std::erase_if(tables, [](const ShownTable& table) { return table.rows.empty(); });
  return tables;
}

std::string runs_text(const Json& ledger) {
  const Json &records = ledger.at("records"), &sweep = ledger.at("sweep_records");
  return records.at("finished").dump() + " of " + records.at("planned").dump() + " finished, " +
         records.at("diverged").dump() + " diverged, " + records.at("absent").dump() + " absent, " +
         records.at("stale").dump() + " stale, " + records.at("damaged").dump() +
         " damaged; sweep: " + sweep.at("finished").dump() + " of " + sweep.at("planned").dump() +
         " finished, " + sweep.at("diverged").dump() + " diverged; " +
         fixed(ledger.at("seconds").get<double>() / 3600, 2) + " hours of computing in all";
}

std::string verdicts_text(const Json& ledger) {
  std::map<std::string, int> counts;
  for (const auto& verdict : ledger.at("claims"))
    ++counts[verdict.at("verdict").get<std::string>()];
  std::vector<std::string> parts;
  for (const auto& [verdict, n] : counts) parts.push_back(std::to_string(n) + " " + verdict);
  return join(parts, ", ");
}

std::string source_text(const Json& ledger) {
  const Json& source = ledger.at("source");
  std::vector<std::string> parts;
  if (source.is_object())
    for (const char* key : {"paper", "where", "values"})
      if (source.contains(key) && source[key].is_string())
        parts.push_back(source[key].get<std::string>());
  return join(parts, ", ");
}

}  // namespace normbench
