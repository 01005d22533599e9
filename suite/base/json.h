// Strict JSON: every key of a file is read or the file is wrong. Files are small; they are read
// whole.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "suite/base/errors.h"

namespace normbench {

/// Keys sorted: two equal values print the same bytes (see canonical()).
using Json = nlohmann::json;

/// Parses `text`. Comments, duplicate keys and numbers beyond a double are errors. Throws UserError
/// with file, line and column.
Json parse_json(const std::string& text, const std::string& file);
/// Reads and parses a file. Throws UserError when it is absent or malformed.
Json read_json(const std::string& path);
/// Writes pretty(value) and a final newline, atomically (files.h).
void write_json(const std::string& path, const Json& value);

/// `compact` with a space after every comma and colon outside of strings.
std::string one_line(const std::string& compact);

/// For people: what fits in `width` columns stands on one line, the rest is indented by two spaces
/// a level. Also for nlohmann::ordered_json, which keeps the order of a file that a person wrote.
template <class AnyJson>
std::string pretty(const AnyJson& value, size_t indent = 0, size_t width = 118) {
  const std::string line = one_line(value.dump());
  if (!value.is_structured() || line.size() + indent <= width) return line;
  const std::string pad(indent + 2, ' ');
  std::string text;
  for (auto it = value.begin(); it != value.end(); ++it) {
    text += (text.empty() ? "" : ",\n") + pad;
    if (value.is_object()) text += AnyJson(it.key()).dump() + ": ";
    text += pretty(*it, indent + 2, width);
  }
  const std::string end = "\n" + std::string(indent, ' ');
  return value.is_object() ? "{\n" + text + end + "}" : "[\n" + text + end + "]";
}

/// One line, sorted keys, no spaces, numbers in their shortest form that reads back to the same
/// bits. Throws UserError on NaN and infinity, which JSON cannot hold.
std::string canonical(const Json& value);

/// Reads one object, key by key, and remembers what was asked for.
///   JsonObject o(value, "suite/tables/x.json", "/tiers/cpu");
///   const auto seeds = o.required<std::vector<int64_t>>("seeds");
///   o.finish();   // throws UserError on a key that nobody asked for, with the nearest known key
/// Paths are JSON pointers. Wrong types throw UserError with path, found and expected.
class JsonObject {
 public:
  JsonObject(const Json& value, std::string file, std::string pointer = "");

  bool has(const std::string& key) const;
  template <class T>
  T required(const std::string& key) const;
  template <class T>
  T optional(const std::string& key, T fallback) const;
  /// The raw value; marks the key as known.
  const Json& raw(const std::string& key) const;
  /// A nested object.
  JsonObject object(const std::string& key) const;
  /// Calls f(name, object) for every member of the nested object `key`, whose member names are
  /// free.
  void for_each_object(const std::string& key,
                       const std::function<void(const std::string&, const JsonObject&)>& f) const;
  /// Calls f(object) for every element of the array `key`.
  void for_each_element(const std::string& key,
                        const std::function<void(const JsonObject&)>& f) const;
  /// Marks a key as known without reading it.
  void ignore(const std::string& key) const { known_.insert(key); }
  /// Names of all members present.
  std::vector<std::string> keys() const;
  void finish() const;

  const Json& value() const { return *value_; }
  const std::string& file() const { return file_; }
  const std::string& pointer() const { return pointer_; }
  /// Throws UserError located at `key` of this object ("" for the object itself).
  [[noreturn]] void fail(const std::string& key, const std::string& what,
                         const std::string& found = {}, const std::string& expected = {},
                         const std::string& todo = {}) const;

 private:
  template <class T>
  T convert(const std::string& key, const Json& value) const;

  const Json* value_;
  std::string file_;
  std::string pointer_;
  mutable std::set<std::string> known_;
};

namespace json_detail {
template <class T>
struct Kind;
template <>
struct Kind<bool> {
  static constexpr const char* name = "true or false";
  static bool fits(const Json& v) { return v.is_boolean(); }
};
template <class Integer>
bool fits_integer(const Json& v) {
  if (v.is_number_unsigned()) return std::in_range<Integer>(v.get<uint64_t>());
  return v.is_number_integer() && std::in_range<Integer>(v.get<int64_t>());
}
template <>
struct Kind<int64_t> {
  static constexpr const char* name = "an integer";
  static bool fits(const Json& v) { return fits_integer<int64_t>(v); }
};
template <>
struct Kind<int> {
  static constexpr const char* name = "an integer";
  static bool fits(const Json& v) { return fits_integer<int>(v); }
};
template <>
struct Kind<double> {
  static constexpr const char* name = "a number";
  static bool fits(const Json& v) { return v.is_number(); }
};
template <>
struct Kind<std::string> {
  static constexpr const char* name = "a string";
  static bool fits(const Json& v) { return v.is_string(); }
};
template <>
struct Kind<Json> {
  static constexpr const char* name = "a value";
  static bool fits(const Json&) { return true; }
};
template <class E>
struct Kind<std::vector<E>> {
  inline static const std::string name = std::string("an array, each element ") + Kind<E>::name;
  static bool fits(const Json& v) {
    if (!v.is_array()) return false;
    for (const auto& e : v)
      if (!Kind<E>::fits(e)) return false;
    return true;
  }
};
}  // namespace json_detail

template <class T>
T JsonObject::convert(const std::string& key, const Json& value) const {
  if (!json_detail::Kind<T>::fits(value))
    fail(key, "wrong type", value.dump(), json_detail::Kind<T>::name);
  return value.get<T>();
}

template <class T>
T JsonObject::required(const std::string& key) const {
  return convert<T>(key, raw(key));
}

template <class T>
T JsonObject::optional(const std::string& key, T fallback) const {
  known_.insert(key);
  if (!has(key)) return fallback;
  return convert<T>(key, (*value_)[key]);
}

}  // namespace normbench
