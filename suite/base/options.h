// Options are aggregates with defaults. Each has one list of its fields, from which reading,
// writing and --help follow:
//
//   struct AdamwOptions {
//     double beta1 = 0.9;          // decay of the first moment
//     std::string mode = "plain";
//     template <class Visitor> void fields(Visitor& v) {
//       v.field("beta1", beta1);
//       v.choice("mode", mode, {"plain", "fused"});
//     }
//   };
//
// A run's identity is the hash of its complete configuration, so a new field would give every
// record of the architecture another identity. `v.added("mode")` after the field says that it came
// when records existed: the configuration names it only where it does not hold its default.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

namespace options_detail {
struct Reader {
  const JsonObject& object;
  template <class T>
  void field(const char* name, T& value) {
    value = object.optional<T>(name, value);
  }
  void choice(const char* name, std::string& value, const std::vector<std::string>& allowed) {
    value = object.optional<std::string>(name, value);
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string all;
    for (const auto& a : allowed) all += (all.empty() ? "" : ", ") + a;
    const std::string hint = nearest(value, allowed);
    object.fail(name, "unknown value", "\"" + value + "\"", "one of: " + all,
                hint.empty() ? "" : "did you mean \"" + hint + "\"?");
  }
  void added(const char*) {}
};
struct Writer {
  Json& json;
  template <class T>
  void field(const char* name, T& value) {
    json[name] = value;
  }
  void choice(const char* name, std::string& value, const std::vector<std::string>&) {
    json[name] = value;
  }
  void added(const char*) {}
};
struct AddedNames {
  Json& names;
  template <class T>
  void field(const char*, T&) {}
  void choice(const char*, std::string&, const std::vector<std::string>&) {}
  void added(const char* name) { names.push_back(name); }
};
struct ChoiceLists {
  Json& lists;
  template <class T>
  void field(const char*, T&) {}
  void choice(const char* name, std::string&, const std::vector<std::string>& allowed) {
    lists[name] = allowed;
  }
  void added(const char*) {}
};
}  // namespace options_detail

/// Reads every field of Options; absent ones keep their default; an unknown key throws UserError.
template <class Options>
Options read_options(const JsonObject& object) {
  Options options;
  options_detail::Reader reader{object};
  options.fields(reader);
  object.finish();
  return options;
}

/// Every field with its value: what a resolved configuration is made of.
template <class Options>
Json options_json(Options options) {
  Json json = Json::object();
  options_detail::Writer writer{json};
  options.fields(writer);
  return json;
}

/// The names of the fields that a resolved configuration leaves out while they hold their default.
template <class Options>
Json added_options() {
  Options options;
  Json names = Json::array();
  options_detail::AddedNames collector{names};
  options.fields(collector);
  return names;
}

/// {name: allowed values} of the fields that are a choice: so that a planner which knows no Options
/// finds a wrong word before anything runs.
template <class Options>
Json option_choices() {
  Options options;
  Json lists = Json::object();
  options_detail::ChoiceLists collector{lists};
  options.fields(collector);
  return lists;
}

}  // namespace normbench
