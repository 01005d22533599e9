// Options are aggregates with defaults. Each has one list of its fields, from which reading,
// checking, writing and --help follow:
//
//   struct AdamwOptions {
//     double beta1 = 0.9;          // decay of the first moment
//     std::string mode = "plain";
//     bool nesterov = true;
//     template <class Visitor> void fields(Visitor& v) {
//       v.number("beta1", beta1, share_below_one());     // a number: its range (limits.h)
//       v.choice("mode", mode, {"plain", "fused"});      // a word: those that it may be
//       v.field("nesterov", nesterov);                   // anything else
//     }
//   };
//
// A list of words is v.words(name, value, {those that may stand in it}), a list of numbers
// v.numbers(name, value, range of each).
//
// A run's identity is the hash of its complete configuration, so a new field would give every
// record of the architecture another identity. `v.added("mode")` after the field says that it came
// when records existed: the configuration names it only where it does not hold its default.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "suite/base/errors.h"
#include "suite/base/limits.h"

namespace normbench {

namespace options_detail {

using Words = std::vector<std::string>;

/// Tells every kind of field to `Self`::see(name, value, limit), where limit is null or as in
/// limits.h.
template <class Self>
struct Visitor {
  template <class T>
  void field(const char* name, T& value) {
    self().see(name, value, Json());
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void number(const char* name, T& value, const Json& range) { self().see(name, value, range); }
  void choice(const char* name, std::string& value, const Words& allowed) {
    self().see(name, value, {{"choices", allowed}});
  }
  void words(const char* name, Words& value, const Words& allowed) {
    self().see(name, value, {{"words", allowed}});
  }
  template <class T>
  void numbers(const char* name, std::vector<T>& value, const Json& range) {
    self().see(name, value, {{"each", range}});
  }
  void added(const char*) {}

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

struct Reader : Visitor<Reader> {
  explicit Reader(const JsonObject& from) : object(from) {}
  template <class T>
  void see(const char* name, T& value, const Json& limit) {
    value = object.optional<T>(name, value);
    if (const auto fault = limit_fault(limit, value))
      object.fail(name, fault->what, fault->found, fault->expected, fault->todo);
  }
  const JsonObject& object;
};

struct Checker : Visitor<Checker> {
  explicit Checker(const std::string& of) : whose(of) {}
  template <class T>
  void see(const char* name, const T& value, const Json& limit) {
    if (const auto fault = limit_fault(limit, value))
      throw UserError({.what = "an option of " + whose + " is " + fault->what,
                       .where = name,
                       .found = fault->found,
                       .expected = fault->expected,
                       .todo = fault->todo});
  }
  std::string whose;
};

struct Writer : Visitor<Writer> {
  template <class T>
  void see(const char* name, const T& value, const Json&) {
    json[name] = value;
  }
  Json json = Json::object();
};

struct AddedNames : Visitor<AddedNames> {
  template <class T>
  void see(const char*, const T&, const Json&) {}
  void added(const char* name) { names.push_back(name); }
  Json names = Json::array();
};

struct Limits : Visitor<Limits> {
  template <class T>
  void see(const char* name, const T&, const Json& limit) {
    if (!limit.is_null()) limits[name] = limit;
  }
  Json limits = Json::object();
};

}  // namespace options_detail

/// Reads every field of Options; absent ones keep their default; an unknown key, or a value beyond
/// its field's limit, throws UserError.
template <class Options>
Options read_options(const JsonObject& object) {
  Options options;
  options_detail::Reader reader(object);
  options.fields(reader);
  object.finish();
  return options;
}

/// Throws UserError when a field is beyond its limit: for options that no file gave. `of`: whose
/// they are.
template <class Options>
void check_limits(Options options, const std::string& of) {
  options_detail::Checker checker(of);
  options.fields(checker);
}

/// Every field with its value: what a resolved configuration is made of.
template <class Options>
Json options_json(Options options) {
  options_detail::Writer writer;
  options.fields(writer);
  return writer.json;
}

/// The names of the fields that a resolved configuration leaves out while they hold their default.
template <class Options>
Json added_options() {
  Options options;
  options_detail::AddedNames collector;
  options.fields(collector);
  return collector.names;
}

/// {name: limit} of the fields that have one (limits.h): so that a planner which knows no Options
/// finds a wrong value before anything runs.
template <class Options>
Json option_limits() {
  Options options;
  options_detail::Limits collector;
  options.fields(collector);
  return collector.limits;
}

}  // namespace normbench
