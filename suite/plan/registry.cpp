#include "suite/plan/registry.h"

#include <algorithm>

namespace normbench {
namespace {

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const std::string hint = nearest(name, known);
  return hint.empty() ? "" : "did you mean \"" + hint + "\"?";
}

/// Throws UserError unless `value` is one of the words in `allowed`.
void require_word(const std::string& value, const std::vector<std::string>& allowed,
                  const std::string& what, const std::string& where) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw UserError({.what = what,
                   .where = where,
                   .found = "\"" + value + "\"",
                   .expected = "one of: " + joined(allowed),
                   .todo = did_you_mean(value, allowed)});
}

bool same_kind(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.is_number_float() || !b.is_number_float();
  return a.type() == b.type();
}

}  // namespace

Registry::Registry(const std::string& file) : json_(read_json(file)) {
  const JsonObject o(json_, file);
  if (o.required<std::string>("schema") != "normbench-registry-1")
    o.fail("schema", "unknown schema");
  for (const char* kind : {"models", "optimizers", "schedules", "tasks"}) o.object(kind);
  o.required<std::vector<std::string>>("probes");
  o.finish();
}

Json Registry::resolve(const std::string& kind, const std::string& name, const Json& given,
                       const std::string& where) const {
  const Json& entries = json_.at(kind);
  if (!entries.contains(name))
    throw UserError({.what = "unknown name in the registry of " + kind,
                     .where = where,
                     .found = "\"" + name + "\"",
                     .expected = "one of: " + joined(names_of(entries)),
                     .todo = did_you_mean(name, names_of(entries))});
  Json options = entries[name]["options"];
  const Json choices = entries[name].value("choices", Json::object());
  for (const auto& item : given.items()) {
    if (!options.contains(item.key()))
      throw UserError({.what = "unknown option of " + name,
                       .where = where,
                       .found = "\"" + item.key() + "\"",
                       .expected = "one of: " + joined(names_of(options)),
                       .todo = did_you_mean(item.key(), names_of(options))});
    Json& slot = options[item.key()];
    if (!same_kind(slot, item.value()))
      throw UserError(
          {.what = "an option of " + name + " has the wrong type",
           .where = where + "/" + item.key(),
           .found = item.value().dump(),
           .expected = std::string("a ") + slot.type_name() + " such as " + slot.dump()});
    if (choices.contains(item.key()))
      require_word(item.value(), choices[item.key()], "unknown value of an option of " + name,
                   where + "/" + item.key());
    // 1 given where the default is 1.0 is the same configuration and must have the same run id.
    if (slot.is_number_float())
      slot = item.value().get<double>();
    else
      slot = item.value();
  }
  for (const auto& added : entries[name].value("added", Json::array())) {
    const auto key = added.get<std::string>();
    if (options[key] == entries[name]["options"][key]) options.erase(key);
  }
  return options;
}

void Registry::check_probes(const std::vector<std::string>& probes,
                            const std::string& where) const {
  for (const auto& probe : probes) {
    require_word(probe, json_.at("probes"), "unknown probe", where);
    if (std::count(probes.begin(), probes.end(), probe) > 1)
      throw UserError({.what = "a probe is named twice",
                       .where = where,
                       .found = "\"" + probe + "\"",
                       .expected = "each probe once"});
  }
}

Json Registry::canary_options(const std::string& task) const {
  return json_.at("tasks").at(task).at("canary_options");
}

}  // namespace normbench
