#include "suite/plan/registry.h"

#include <limits>

#include "suite/base/limits.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

bool same_kind(const Json& a, const Json& b) {
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (b.is_number_unsigned() && b.get<uint64_t>() > kLargest && !a.is_number_float()) return false;
  if (a.is_number() && b.is_number()) return a.is_number_float() || !b.is_number_float();
  return a.type() == b.type();
}

/// The value as its option holds it: 2 given where the default is 1.0 is no whole number.
Json held_by(const Json& slot, Json value) {
  if (slot.is_array() && !slot.empty())
    for (auto& element : value) element = held_by(slot.front(), element);
  else if (slot.is_number_float() && value.is_number())
    value = value.get<double>();
  return value;
}

std::string kind_text(const Json& value) {
  if (value.is_number_integer()) return "a whole number";
  if (value.is_boolean()) return "true or false,";
  return (value.is_array() || value.is_object() ? "an " : "a ") + std::string(value.type_name());
}

}  // namespace

Registry::Registry(const std::string& file) : json_(read_json(file)) {
  const JsonObject o(json_, file);
  if (o.required<std::string>("schema") != "normbench-registry-1")
    o.fail("schema", "unknown schema");
  for (const char* kind : {"models", "optimizers", "schedules", "tasks"}) o.object(kind);
  o.required<std::vector<std::string>>("probes");
  o.required<std::vector<std::string>>("devices");
  o.finish();
}

std::vector<std::string> Registry::devices() const {
  return json_.at("devices").get<std::vector<std::string>>();
}

Json Registry::resolve(const std::string& kind, const std::string& name, const Json& given,
                       const std::string& where) const {
  const Json& entries = json_.at(kind);
  if (!entries.contains(name))
    throw UserError({.what = "unknown name in the registry of " + kind,
                     .where = where.substr(0, where.rfind("_options")),
                     .found = "\"" + name + "\"",
                     .expected = one_of(names_of(entries)),
                     .todo = did_you_mean(name, names_of(entries))});
  Json options = entries[name]["options"];
  const Json limits = entries[name].value("limits", Json::object());
  for (const auto& item : given.items()) {
    if (!options.contains(item.key()))
      throw UserError({.what = "unknown option of " + name,
                       .where = where,
                       .found = "\"" + item.key() + "\"",
                       .expected = one_of(names_of(options)),
                       .todo = did_you_mean(item.key(), names_of(options))});
    Json& slot = options[item.key()];
    if (!same_kind(slot, item.value()))
      throw UserError({.what = "an option of " + name + " has the wrong type",
                       .where = where + "/" + item.key(),
                       .found = item.value().dump(),
                       .expected = kind_text(slot) + " such as " + slot.dump()});
    if (const auto fault =
            limit_fault(limits.value(item.key(), Json()), held_by(slot, item.value())))
      throw UserError({.what = "an option of " + name + " holds what it cannot: " + fault->what,
                       .where = where + "/" + item.key(),
                       .found = fault->found,
                       .expected = fault->expected,
                       .todo = fault->todo});
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
  if (const auto fault = limit_fault({{"words", json_.at("probes")}}, probes))
    throw UserError({.what = "probes: " + fault->what,
                     .where = where,
                     .found = fault->found,
                     .expected = fault->expected,
                     .todo = fault->todo});
}

Json Registry::canary_options(const std::string& task) const {
  return json_.at("tasks").at(task).at("canary_options");
}

}  // namespace normbench
