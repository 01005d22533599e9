#include "suite/judge/ledger_probes.h"

#include <map>

#include "suite/base/text.h"
#include "suite/judge/statistics.h"

namespace normbench {
namespace {

/// Every number's mean over `documents` of one shape.
Json mean_of(const std::vector<Json>& documents) {
  std::map<std::string, std::vector<double>> numbers;
  for (const auto& document : documents) {
    const Json flat = document.flatten();
    for (const auto& [pointer, value] : flat.items())
      if (value.is_number()) numbers[pointer].push_back(value.get<double>());
  }
  Json flat = Json::object();
  if (!documents.empty())
    for (const auto& [pointer, unused] : documents.front().flatten().get<Json::object_t>())
      flat[pointer] = numbers[pointer].size() == documents.size() ? Json(mean(numbers[pointer]))
                                                                  : Json(nullptr);
  return flat.empty() ? Json::object() : flat.unflatten();
}

std::string numbers_text(const Json& value) {
  if (value.is_number()) return plain_text(round_to(value.get<double>(), 3));
  if (!value.is_array()) return "-";
  std::vector<std::string> texts;
  for (const auto& entry : value) texts.push_back(numbers_text(entry));
  return join(texts, " ");
}

void collect(const Json& after, const Json& at_start, const std::string& name,
             std::vector<std::string>& facts) {
  if (!after.is_object()) {
    facts.push_back(name + ": " + numbers_text(after) +
                    (at_start.is_null() ? "" : "; before training: " + numbers_text(at_start)));
    return;
  }
  for (const auto& [key, value] : after.items())
    collect(value, at_start.is_object() ? at_start.value(key, Json()) : Json(),
            name.empty() ? key : name + " " + key, facts);
}

}  // namespace

Json probes_json(const Evidence& evidence) {
  Json entries = Json::array();
  for (const auto& arm : evidence.input.arms)
    for (const auto& dataset : evidence.input.datasets) {
      const auto budgets = evidence.budgets(arm.name, dataset);
      if (budgets.empty()) continue;
      std::vector<Json> at_start, after;
      for (const auto& record : evidence.runs) {
        if (record.run.arm != arm.name || record.run.dataset != dataset ||
            record.run.token_budget != budgets.back() || !record.usable() ||
            !record.summary.contains("probes"))
          continue;
        at_start.push_back(record.summary.at("probes_at_start"));
        after.push_back(record.summary.at("probes"));
      }
      if (!after.empty())
        entries.push_back({{"arm", arm.name},
                           {"dataset", dataset},
                           {"budget", budgets.back()},
                           {"n", after.size()},
                           {"at_start", mean_of(at_start)},
                           {"after", mean_of(after)}});
    }
  return entries;
}

std::vector<std::string> probe_facts(const Json& entry) {
  std::vector<std::string> facts;
  collect(entry.at("after"), entry.at("at_start"), "", facts);
  return facts;
}

}  // namespace normbench
