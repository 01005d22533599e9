#include "suite/judge/baseline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "suite/base/record_digest.h"
#include "suite/judge/gate.h"
#include "suite/judge/statistics.h"

namespace normbench {
namespace {

void check_value(const JsonObject& value) {
  value.required<int64_t>("seed");
  value.required<std::string>("run_id");
  const auto bits = value.required<std::string>("bits");
  const bool diverged = value.raw("validation_loss").is_null();
  const std::string of_loss =
      diverged ? "" : double_bits(value.required<double>("validation_loss"));
  if (bits != of_loss)  // the gate of other classes reads the loss, of the same class the bits
    value.fail("validation_loss", "the validation loss and its bits disagree",
               value.raw("validation_loss").dump() + " and bits \"" + bits + "\"",
               "bits \"" + of_loss + "\", or the loss of these bits");
  value.required<std::string>("steps_digest");
  value.finish();
}

void check_statistics(const JsonObject& group) {
  const Json& values = group.raw("values");
  const Json statistics = statistics_of(values);
  for (const auto& [key, expected] : statistics.items()) {
    const Json& found = group.raw(key);
    // The sums may have been made in another order of the seeds.
    const bool agrees =
        expected.is_number()
            ? found.is_number() && std::abs(found.get<double>() - expected.get<double>()) < 1e-9
            : found.is_null();
    if (!agrees && !values.empty())  // one without values is a placeholder, which the gate names
      group.fail(key, "not what the values beside it say", found.dump(), expected.dump());
  }
}

void check_group(const JsonObject& group) {
  group.required<int>("n");
  group.for_each_element("values", check_value);
  check_statistics(group);
  group.finish();
}

void check_entry(const JsonObject& entry) {
  entry.for_each_object("arms", [](const std::string&, const JsonObject& arm) {
    for (const auto& dataset : arm.keys())
      arm.for_each_object(dataset,
                          [](const std::string&, const JsonObject& group) { check_group(group); });
  });
  const auto check_outcomes = [](const std::string&, const JsonObject& claim) {
    for (const auto& dataset : claim.keys())
      outcome_from_name(claim.required<std::string>(dataset),
                        claim.file() + ", at " + claim.pointer() + "/" + dataset);
  };
  entry.for_each_object("verdicts", check_outcomes);
  if (entry.has("runs_alone")) entry.for_each_object("runs_alone", check_outcomes);
  entry.ignore("created");
  entry.ignore("fingerprint");
  entry.finish();
}

/// Those whose word counts for a class: its own entry, or, where it has none, all of them.
std::map<std::string, const Json*> entries_for(const Json& entries,
                                               const std::string& numeric_class) {
  std::map<std::string, const Json*> speaking;
  for (const auto& [of_class, entry] : entries.items())
    if (of_class == numeric_class || !entries.contains(numeric_class)) speaking[of_class] = &entry;
  return speaking;
}

}  // namespace

Json read_baseline(const JudgeInput& input, const std::string& file) {
  const Json baseline = read_json(file);
  const JsonObject object(baseline, file);
  for (const auto& [key, expected] :
       std::vector<std::pair<std::string, std::string>>{{"schema", kBaselineSchema},
                                                        {"paper", input.paper},
                                                        {"table", input.table},
                                                        {"tier", input.tier}})
    if (const auto found = object.required<std::string>(key); found != expected)
      object.fail(key, "the baseline of something else", "\"" + found + "\"",
                  "\"" + expected + "\"", bless_command(input));
  object.for_each_object("entries",
                         [](const std::string&, const JsonObject& entry) { check_entry(entry); });
  object.ignore("note");
  object.finish();
  return baseline;
}

Json statistics_of(const Json& values) {
  std::vector<double> losses;
  for (const auto& value : values)
    if (const Json& loss = value.at("validation_loss"); !loss.is_null()) losses.push_back(loss);
  return {{"n", values.size()},
          {"mean", losses.empty() ? Json() : Json(mean(losses))},
          {"s", losses.size() < 2 ? Json(0.0) : Json(sample_sd(losses))}};
}

std::optional<CommittedGroup> group_of(const Json& entry, const RunRef& run) {
  const Json* at = &entry;
  for (const std::string& key :
       {std::string("arms"), run.arm, run.dataset, std::to_string(run.token_budget)}) {
    if (!at->is_object() || !at->contains(key)) return std::nullopt;
    at = &(*at)[key];
  }
  CommittedGroup group{at->value("n", 0), at->value("values", Json::array())};
  if (group.n <= 0 || group.values.size() != static_cast<size_t>(group.n)) return std::nullopt;
  return group;
}

const Json* value_of(const CommittedGroup& group, int64_t seed) {
  for (const auto& value : group.values)
    if (value.value("seed", Json()) == seed) return &value;
  return nullptr;
}

int num_values(const Json& entry) {
  size_t n = 0;
  for (const auto& arm : entry.value("arms", Json::object()))
    for (const auto& dataset : arm)
      for (const auto& group : dataset) n += group.at("values").size();
  return static_cast<int>(n);
}

bool has_runs_alone(const Json& entries, const std::string& numeric_class) {
  const auto speaking = entries_for(entries, numeric_class);
  return std::any_of(speaking.begin(), speaking.end(), [](const auto& class_and_entry) {
    return class_and_entry.second->contains("runs_alone");
  });
}

std::optional<Outcome> committed_outcome(const Json& entries, const std::string& numeric_class,
                                         const std::string& of, const std::string& claim,
                                         const std::string& dataset) {
  std::optional<Outcome> lowest;
  for (const auto& [of_class, entry] : entries_for(entries, numeric_class)) {
    const Json by_dataset = entry->value(of, Json::object()).value(claim, Json::object());
    if (!by_dataset.contains(dataset)) continue;
    const Outcome outcome = outcome_from_name(by_dataset[dataset], of_class);
    if (!lowest || falls_below(outcome, *lowest)) lowest = outcome;
  }
  return lowest;
}

}  // namespace normbench
