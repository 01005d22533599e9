#include "suite/judge/ledger_probes.h"

#include <algorithm>
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

Json inside(const Json& object, const std::string& key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

/// What each seed says of a probe that is a single number: a list in its place. Lists (a number for
/// each layer) are left out; null when nothing is left.
Json of_seeds(const std::vector<Json>& documents) {
  if (std::any_of(documents.begin(), documents.end(),
                  [](const Json& document) { return document.is_number(); }))
    return documents;
  Json of_keys;
  if (documents.front().is_object())
    for (const auto& key : documents.front().items()) {
      std::vector<Json> values;
      for (const auto& document : documents) values.push_back(inside(document, key.key()));
      if (Json found = of_seeds(values); !found.is_null()) of_keys[key.key()] = std::move(found);
    }
  return of_keys;
}

std::string numbers_text(const Json& value) {
  if (value.is_number()) return plain_text(round_to(value.get<double>(), 3));
  if (!value.is_array()) return "-";
  std::vector<std::string> texts;
  for (const auto& entry : value) texts.push_back(numbers_text(entry));
  return join(texts, " ");
}

void collect(const Json& after, const Json& of_seeds, const Json& at_start, const std::string& name,
             std::vector<std::string>& facts) {
  if (!after.is_object()) {
    facts.push_back(name + ": " + numbers_text(after) +
                    (of_seeds.is_null() ? "" : " (" + numbers_text(of_seeds) + ")") +
                    (at_start.is_null() ? "" : "; before training: " + numbers_text(at_start)));
    return;
  }
  for (const auto& [key, value] : after.items())
    collect(value, inside(of_seeds, key), inside(at_start, key),
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
                           {"after", mean_of(after)},
                           {"after_of_seeds", after.size() == 1 ? Json() : of_seeds(after)}});
    }
  return entries;
}

std::vector<std::string> probe_facts(const Json& entry) {
  std::vector<std::string> facts;
  collect(entry.at("after"), entry.at("after_of_seeds"), entry.at("at_start"), "", facts);
  return facts;
}

}  // namespace normbench
