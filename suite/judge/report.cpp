#include "suite/judge/report.h"

#include <kainjow/mustache.hpp>
#include <map>
#include <set>

#include "suite/base/files.h"
#include "suite/base/log.h"
#include "suite/base/text.h"
#include "suite/judge/ledger_probes.h"
#include "suite/judge/ledger_words.h"
#include "suite/judge/plots.h"
#include "suite/judge/report_page.h"  // made by CMake from report_page.html

namespace normbench {
namespace {

namespace mustache = kainjow::mustache;

mustache::data to_mustache(const Json& value) {
  if (value.is_object()) {
    mustache::data object;
    for (auto it = value.begin(); it != value.end(); ++it)
      object.set(it.key(), to_mustache(it.value()));
    return object;
  }
  if (value.is_array()) {
    mustache::data list{mustache::data::type::list};
    for (const auto& element : value) list.push_back(to_mustache(element));
    return list;
  }
  if (value.is_boolean()) return mustache::data(value.get<bool>());
  return mustache::data(value.is_string() ? value.get<std::string>()
                        : value.is_null() ? std::string()
                                          : value.dump());
}

const char* symbol_of(const std::string& verdict) {
  static const std::map<std::string, const char*> symbols = {
      {"REPRODUCED", "\xE2\x9C\x93"},       {"DIRECTION_ONLY", "\xE2\x86\x97"},
      {"NOT_REPRODUCED", "\xE2\x9C\x97"},   {"INCONCLUSIVE", "?"},
      {"BASELINE_UNTUNED", "\xE2\x9A\xA0"}, {"OUT_OF_SCALE", "\xE2\x80\x93"},
      {"MACHINE_UNFIT", "\xE2\x80\x93"},    {"NOT_RUN", "\xE2\x80\xA6"}};
  const auto found = symbols.find(verdict);
  return found == symbols.end() ? "" : found->second;
}

// A text section that is shown only when there is text: mustache takes a non-empty string for true,
// but so it does an empty one.
Json or_false(const std::string& text) { return text.empty() ? Json(false) : Json(text); }

std::string field(const Json& object, const char* key) {
  return object.is_object() && object.contains(key)
             ? (object[key].is_string() ? object[key].get<std::string>() : object[key].dump())
             : "";
}

Json claims_view(const Json& ledger) {
  Json claims = Json::array();
  for (const auto& verdict : ledger.at("claims")) {
    if (claims.empty() || claims.back()["claim"] != verdict.at("claim")) {
      claims.push_back({{"claim", verdict.at("claim")},
                        {"statement", verdict.at("statement")},
                        {"rule", verdict.at("rule")},
                        {"who", who_text(ledger, verdict)},
                        {"conditions", or_false(verdict.at("conditions"))},
                        {"where", or_false(field(verdict.at("paper"), "where"))},
                        {"how", field(verdict.at("paper"), "how")},
                        {"rows", Json::array()}});
    }
    const std::string outcome = verdict.at("verdict");
    claims.back()["rows"].push_back(
        {{"dataset", verdict.at("dataset")},
         {"paper", paper_text(verdict)},
         {"here", here_text(verdict)},
         {"interval", interval_text(verdict)},
         {"interval_label", interval_label(ledger, verdict)},
         {"pairs", verdict.at("pairs").dump() + "/" + verdict.at("planned_pairs").dump()},
         {"verdict", outcome},
         {"symbol", symbol_of(outcome)},
         {"dashed", outcome == "NOT_RUN"},
         {"reason", verdict.at("reason")},
         {"facts", verdict_facts(ledger, verdict)},
         {"forest", forest_svg(verdict)}});
  }
  return claims;
}

Json losses_view(const Json& ledger) {
  Json tables = Json::array();
  for (const auto& dataset : ledger.at("datasets")) {
    std::set<int64_t> budgets;
    for (const auto& row : ledger.at("losses"))
      if (row.at("dataset") == dataset) budgets.insert(row.at("budget").get<int64_t>());
    if (budgets.empty()) continue;  // a setting that only sweeps
    Json table{{"dataset", dataset},
               {"budgets", Json::array()},
               {"arms", Json::array()},
               {"times_of", or_false(relative_to(ledger, "step_times", dataset))},
               {"flops_of", or_false(relative_to(ledger, "token_flops", dataset))}};
    for (const int64_t budget : budgets)
      table["budgets"].push_back(tokens_text(static_cast<double>(budget)));
    for (const auto& arm : ledger.at("arms")) {
      Json cells = Json::array();
      bool any = false;
      for (const int64_t budget : budgets) {
        Json cell{{"mean", "-"}, {"spread", ""}};
        for (const auto& row : ledger.at("losses")) {
          if (row.at("dataset") != dataset || row.at("arm") != arm.at("name") ||
              row.at("budget") != budget)
            continue;
          any = true;
          if (row.at("mean").is_number()) cell["mean"] = fixed(row.at("mean").get<double>(), 3);
          cell["spread"] =
              (row.at("s").is_number() ? "\xC2\xB1 " + fixed(row.at("s").get<double>(), 3) + " "
                                       : "") +
              "(" + row.at("n").dump() +
              (row.at("diverged").get<int>() > 0 ? ", " + row.at("diverged").dump() + " diverged"
                                                 : "") +
              ")";
        }
        cells.push_back(cell);
      }
      std::string step = "-";
      for (const auto& row : ledger.at("step_times"))
        if (row.at("dataset") == dataset && row.at("arm") == arm.at("name"))
          step = fixed(row.at("relative").get<double>(), 2) + "x";
      std::string flops = "-";
      for (const auto& row : ledger.at("token_flops"))
        if (row.at("dataset") == dataset && row.at("arm") == arm.at("name"))
          flops = fixed(row.at("relative").get<double>(), 2) + "x";
      if (any)
        table["arms"].push_back({{"label", arm.at("label")},
                                 {"warning", or_false(arm.at("warning"))},
                                 {"cells", cells},
                                 {"step_time", step},
                                 {"flops", flops}});
    }
    tables.push_back(table);
  }
  return tables;
}

Json tuning_view(const Json& ledger) {
  Json rows = Json::array();
  for (const auto& row : ledger.at("tuning")) {
    const Json& trials = row.at("trials");
    rows.push_back({{"arm", arm_of(ledger, row.at("arm")).at("label")},
                    {"dataset", row.at("dataset")},
                    {"tokens", tokens_text(row.at("budget").get<double>())},
                    {"trials", row.at("num_trials").dump()},
                    {"grid", trials.empty() ? "-"
                                            : trials.front().at("peak_lr").dump() + " .. " +
                                                  trials.back().at("peak_lr").dump()},
                    {"best", rate_text(row.at("best_lr"))},
                    {"chosen", rate_text(row.at("chosen_lr"))},
                    {"table", row.at("table_lr").is_number() ? row.at("table_lr").dump() : "-"},
                    {"problems", row.at("problems")},
                    {"doubts", row.at("doubts")},
                    {"fine", row.at("problems").empty()}});
  }
  return rows;
}

Json measurements_view(const Json& ledger) {
  Json rows = Json::array();
  for (const auto& measurement : ledger.value("measurements", Json::array()))
    rows.push_back({{"label", measurement.at("label")},
                    {"note", or_false(measurement.at("note"))},
                    {"facts", measurement_facts(measurement)}});
  return rows;
}

Json tables_view(const Json& ledger) {
  Json tables = Json::array();
  for (const auto& table : shown_tables(ledger)) {
    Json rows = Json::array();
    for (const auto& row : table.rows) rows.push_back({{"cells", row}});
    tables.push_back({{"title", table.title},
                      {"explanation", table.explanation},
                      {"note", or_false(table.note)},
                      {"columns", table.columns},
                      {"rows", rows}});
  }
  return tables;
}

Json probes_view(const Json& ledger) {
  Json rows = Json::array();
  for (const auto& entry : ledger.value("probes", Json::array()))
    rows.push_back({{"label", arm_of(ledger, entry.at("arm")).at("label").get<std::string>() +
                                  ", " + entry.at("dataset").get<std::string>() + ", " +
                                  tokens_text(entry.at("budget").get<double>()) + " tokens"},
                    {"facts", probe_facts(entry)}});
  return rows;
}

Json rows_of(const Json& list, const std::vector<const char*>& keys) {
  Json rows = Json::array();
  if (list.is_array())
    for (const auto& entry : list) {
      Json row;
      for (const char* key : keys)
        row[key] =
            entry.is_string() && key == keys.front() ? entry.get<std::string>() : field(entry, key);
      rows.push_back(row);
    }
  return rows;
}

Json ledger_view(const Json& ledger, const std::string& gnuplot, int index) {
  const std::string name =
      ledger.at("paper").get<std::string>() + "." + ledger.at("table").get<std::string>();
  Json meta = Json::array();
  const auto add = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) meta.push_back({{"key", key}, {"value", value}});
  };
  add("source", source_text(ledger));
  add("model", ledger.at("size"));
  add("runs", runs_text(ledger));
  add("baseline", ledger.at("baseline"));
  add("numeric class", join(ledger.at("numeric_classes").get<std::vector<std::string>>(), "; "));
  add("speed class", join(ledger.at("perf_classes").get<std::vector<std::string>>(), "; "));
  std::map<std::string, int> counts;
  for (const auto& verdict : ledger.at("claims"))
    ++counts[verdict.at("verdict").get<std::string>()];
  Json chips = Json::array(), plots = Json::array(), warnings = Json::array(),
       faults = Json::array();
  for (const auto& [verdict, n] : counts) chips.push_back({{"verdict", verdict}, {"n", n}});
  for (auto& plot : draw_plots(ledger, gnuplot, 100 * index))
    plots.push_back({{"svg", std::move(plot.svg)}, {"caption", plot.caption}});
  for (const auto& arm : ledger.at("arms"))
    if (!arm.at("warning").get<std::string>().empty())
      warnings.push_back({{"label", arm.at("label")}, {"text", arm.at("warning")}});
  for (const char* key : {"records", "sweep_records"})
    for (const auto& fault : ledger.at(key).at("unusable")) faults.push_back(fault);
  const std::string source = ledger.at("peak_lr_source");
  const Json losses = losses_view(ledger);
  const Json deviations = rows_of(ledger.at("deviations"), {"what", "paper", "here", "why"});
  const Json not_tested = rows_of(ledger.at("not_tested"), {"what", "why"});
  return {{"name", name},
          {"anchor", name + "." + ledger.at("tier").get<std::string>()},
          {"tier", ledger.at("tier")},
          {"title", ledger.at("title")},
          {"meta", meta},
          {"counts", chips},
          {"claims", claims_view(ledger)},
          {"has_star", has_star(ledger)},
          {"losses", losses},
          {"has_losses", !losses.empty()},
          {"tables", tables_view(ledger)},
          {"measurements", measurements_view(ledger)},
          {"has_measurements", ledger.contains("measurements")},
          {"probes", probes_view(ledger)},
          {"has_probes", ledger.contains("probes")},
          {"warnings", warnings},
          {"tuning", tuning_view(ledger)},
          {"has_sweep", !ledger.at("tuning").empty()},
          {"no_sweep",
           ledger.at("tuning").empty()
               ? Json(Json::array(
                     {source.empty()
                          ? "No sweep at this tier: the rates are as the table file gives them."
                          : "Rates from " + source + "."}))
               : Json(false)},
          {"plots", plots},
          {"has_plots", !plots.empty()},
          {"faults", faults},
          {"has_faults", !faults.empty()},
          {"deviations", deviations},
          {"has_deviations", !deviations.empty()},
          {"not_tested", not_tested},
          {"has_not_tested", !not_tested.empty()}};
}

}  // namespace

std::string report_page(const std::vector<Json>& ledgers, const std::string& gnuplot) {
  Json view{{"ledgers", Json::array()}, {"several", ledgers.size() > 1}};
  bool wants_plots = false, has_plots = false;
  for (size_t i = 0; i < ledgers.size(); ++i) {
    view["ledgers"].push_back(ledger_view(ledgers[i], gnuplot, static_cast<int>(i)));
    for (const auto& row : ledgers[i].at("losses"))
      wants_plots = wants_plots || row.at("mean").is_number();
    has_plots = has_plots || view["ledgers"].back()["has_plots"].get<bool>();
  }
  view["no_gnuplot"] = wants_plots && !has_plots;
  mustache::mustache page{kReportPage};
  NORMBENCH_CHECK(page.is_valid(), page.error_message());
  return page.render(to_mustache(view));
}

void write_report(const std::vector<Json>& ledgers, const std::string& path) {
  write_file_atomically(path, report_page(ledgers));
}

}  // namespace normbench
