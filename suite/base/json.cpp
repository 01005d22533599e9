#include "suite/base/json.h"

#include <algorithm>
#include <cmath>

#include "suite/base/files.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

/// "file:line:column" of a byte of the text; the first one, byte 0, is 1:1.
std::string place(const std::string& file, const std::string& text, size_t byte) {
  const std::string before = text.substr(0, byte);
  const size_t newline = before.rfind('\n');
  const size_t line_start = newline == std::string::npos ? 0 : newline + 1;
  return file + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(1 + before.size() - line_start);
}

/// The parser's message without its own name and place: "[json.exception.parse_error.101] parse
/// error at line 1, column 1: syntax error while ...".
std::string reason_in(const std::string& message) {
  const size_t place_end = message.find(": ");
  return place_end == std::string::npos ? message : message.substr(place_end + 2);
}

/// The parser names a number that is too large, but not where it stands: "... parsing '1e999'".
std::string number_in(const std::string& message) {
  const size_t begin = message.find('\''), end = message.rfind('\'');
  return begin < end ? message.substr(begin + 1, end - begin - 1) : "";
}

/// What nlohmann's parser takes without a word: of two equal keys it keeps the last, and what is
/// nested without end breaks whoever walks through it afterwards.
class ParserWatch {
 public:
  explicit ParserWatch(const std::string& file) : file_(file) {}

  /// Throws UserError with the place.
  void see(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::key) {
      open_.back().key = parsed.get<std::string>();
      if (!open_.back().keys.insert(open_.back().key).second)
        throw UserError({.what = "a key stands twice in one object",
                         .where = file_ + ", at " + pointer(),
                         .found = "\"" + open_.back().key + "\"",
                         .todo = "remove one of the two"});
      return;
    }
    if (event == Event::object_end || event == Event::array_end) {
      open_.pop_back();
      return;
    }
    if (!open_.empty()) ++open_.back().elements;
    if (event == Event::value) return;
    open_.push_back({.is_array = event == Event::array_start});
    if (open_.size() > kDeepest)
      throw UserError({.what = "objects and lists too deep in one another",
                       .where = file_,
                       .expected = "at most " + std::to_string(kDeepest) + " levels"});
  }

 private:
  static constexpr size_t kDeepest = 100;
  struct Level {
    bool is_array = false;
    int64_t elements = 0;  // begun
    std::set<std::string> keys = {};
    std::string key = {};
  };
  std::string pointer() const {
    std::string text;
    for (const auto& level : open_)
      text += "/" + (level.is_array ? std::to_string(level.elements - 1) : level.key);
    return text;
  }
  const std::string& file_;
  std::vector<Level> open_;
};

void reject_non_finite(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw UserError({.what = "a number that JSON cannot hold", .found = "NaN or infinity"});
  if (value.is_structured())
    for (const auto& element : value) reject_non_finite(element);
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  ParserWatch watch(file);
  try {
    return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
      watch.see(event, parsed);
      return true;
    });
  } catch (const Json::parse_error& e) {
    throw UserError({.what = "not valid JSON",
                     .where = place(file, text, e.byte > 0 ? e.byte - 1 : 0),
                     .found = reason_in(e.what())});
  } catch (const Json::out_of_range& e) {
    const std::string number = number_in(e.what());
    throw UserError({.what = "a number that is too large",
                     .where = place(file, text, text.find(number)),
                     .found = number,
                     .expected = "a number that fits into 64 bits of floating point"});
  }
}

Json read_json(const std::string& path) { return parse_json(read_file(path), path); }

void write_json(const std::string& path, const Json& value) {
  reject_non_finite(value);
  write_file_atomically(path, pretty(value) + "\n");
}

std::string one_line(const std::string& compact) {
  std::string text;
  bool in_string = false;
  for (size_t i = 0; i < compact.size(); ++i) {
    text += compact[i];
    if (compact[i] == '\\') {
      text += compact[++i];  // an escape is only possible inside a string
    } else if (compact[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (compact[i] == ',' || compact[i] == ':')) {
      text += ' ';
    }
  }
  return text;
}

std::string canonical(const Json& value) {
  reject_non_finite(value);
  return value.dump();
}

JsonObject::JsonObject(const Json& value, std::string file, std::string pointer)
    : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!value.is_object()) fail("", "wrong type", value.dump().substr(0, 80), "an object");
}

bool JsonObject::has(const std::string& key) const { return value_->contains(key); }

const Json& JsonObject::raw(const std::string& key) const {
  known_.insert(key);
  if (!has(key)) fail(key, "a key is missing", "no \"" + key + "\"", "\"" + key + "\"");
  return (*value_)[key];
}

JsonObject JsonObject::object(const std::string& key) const {
  return JsonObject(raw(key), file_, pointer_ + "/" + key);
}

void JsonObject::for_each_object(
    const std::string& key,
    const std::function<void(const std::string&, const JsonObject&)>& f) const {
  const JsonObject parent = object(key);
  for (const auto& name : parent.keys()) f(name, parent.object(name));
}

void JsonObject::for_each_element(const std::string& key,
                                  const std::function<void(const JsonObject&)>& f) const {
  const Json& array = raw(key);
  if (!array.is_array()) fail(key, "wrong type", array.dump().substr(0, 80), "an array");
  for (size_t i = 0; i < array.size(); ++i)
    f(JsonObject(array[i], file_, pointer_ + "/" + key + "/" + std::to_string(i)));
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> names;
  for (auto it = value_->begin(); it != value_->end(); ++it) names.push_back(it.key());
  return names;
}

void JsonObject::finish() const {
  for (const auto& key : keys()) {
    if (known_.contains(key)) continue;
    const std::vector<std::string> known(known_.begin(), known_.end());
    fail(key, "unknown key \"" + key + "\"", "\"" + key + "\"", one_of(known),
         did_you_mean(key, known));
  }
}

void JsonObject::fail(const std::string& key, const std::string& what, const std::string& found,
                      const std::string& expected, const std::string& todo) const {
  std::string where = file_ + (pointer_.empty() && key.empty() ? "" : ", at ") + pointer_;
  if (!key.empty()) where += "/" + key;
  throw UserError(
      {.what = what, .where = where, .found = found, .expected = expected, .todo = todo});
}

}  // namespace normbench
