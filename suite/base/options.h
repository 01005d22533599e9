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

/// Every field with its value: what goes into a resolved configuration.
template <class Options>
Json options_json(Options options) {
  Json json = Json::object();
  options_detail::Writer writer{json};
  options.fields(writer);
  return json;
}

}  // namespace normbench
