#include "suite/base/limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "suite/base/names.h"

namespace normbench {
namespace {

std::optional<LimitFault> word_fault(const std::string& word,
                                     const std::vector<std::string>& known) {
  if (is_one_of(word, known)) return std::nullopt;
  return LimitFault{"unknown value", "\"" + word + "\"", one_of(known), did_you_mean(word, known)};
}

std::optional<LimitFault> list_fault(const Json& list, const std::vector<std::string>& known) {
  for (const auto& word : list) {
    if (!word.is_string()) return LimitFault{"not a word", word.dump(), one_of(known), ""};
    if (auto fault = word_fault(word, known)) return fault;
    if (std::count(list.begin(), list.end(), word) > 1)
      return LimitFault{"a word stands twice", word.dump(), "each at most once", ""};
  }
  return std::nullopt;
}

struct End {
  const char* key;
  bool (*holds)(double value, double end);
  const char *before, *after;  // the end's number stands between
};
constexpr End kEnds[] = {
    {"least", [](double value, double end) { return value >= end; }, "", " or more"},
    {"above", [](double value, double end) { return value > end; }, "above ", ""},
    {"most", [](double value, double end) { return value <= end; }, "at most ", ""},
    {"below", [](double value, double end) { return value < end; }, "below ", ""}};

/// No option means a larger one, and an fp32 tensor takes none above 3.4e38.
constexpr double kMostMagnitude = 1e30;
/// Whole numbers count things: widths, heads, steps. No model has more of anything, and no product
/// of three of them overflows.
constexpr int64_t kMostCount = 1'000'000;

std::optional<LimitFault> number_fault(Json limit, const Json& value) {
  if (std::abs(value.get<double>()) > kMostMagnitude)
    return LimitFault{"out of range", value.dump(), "at most 1e30 in magnitude", ""};
  if (value.is_number_integer() && !limit.contains("most") && !limit.contains("below"))
    limit["most"] = kMostCount;
  bool holds = true;
  std::string expected;
  for (const auto& end : kEnds) {
    if (!limit.contains(end.key)) continue;
    const Json& number = limit[end.key];
    holds = holds && end.holds(value.get<double>(), number.get<double>());
    expected += (expected.empty() ? "" : " and ") + (end.before + number.dump()) + end.after;
  }
  if (holds) return std::nullopt;
  return LimitFault{"out of range", value.dump(), expected, ""};
}

// "1 or more", not "1.0 or more".
Json shortest(double end) {
  return end == std::trunc(end) && std::abs(end) < 1e15 ? Json(static_cast<int64_t>(end))
                                                        : Json(end);
}

std::optional<LimitFault> numbers_fault(const Json& range, const Json& list) {
  if (list.empty()) return LimitFault{"empty", "[]", "at least one number", ""};
  for (const auto& number : list) {
    if (!number.is_number()) return LimitFault{"not a number", number.dump(), "numbers alone", ""};
    if (auto fault = number_fault(range, number)) return fault;
  }
  return std::nullopt;
}

}  // namespace

Json at_least(double least) { return {{"least", shortest(least)}}; }
Json above(double end) { return {{"above", shortest(end)}}; }
Json between(double least, double most) {
  return {{"least", shortest(least)}, {"most", shortest(most)}};
}
Json share_above_zero() { return {{"above", 0}, {"most", 1}}; }
Json share_below_one() { return {{"least", 0}, {"below", 1}}; }

std::optional<LimitFault> limit_fault(const Json& limit, const Json& value) {
  if (limit.is_null()) return value.is_number() ? number_fault(limit, value) : std::nullopt;
  if (limit.contains("choices")) return word_fault(value, limit["choices"]);
  if (limit.contains("words")) return list_fault(value, limit["words"]);
  if (limit.contains("each")) return numbers_fault(limit["each"], value);
  return number_fault(limit, value);
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (std::to_string(value) != text) return std::nullopt;
  return value;
}

}  // namespace normbench
