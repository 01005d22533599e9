// What an option may hold, said once where the option is declared: the planner checks it before
// anything runs (registry.json carries it there), and so does whoever reads or takes the option.
// As JSON: {"least" or "above": end, "most" or "below": end} of a number, {"choices": words} of a
// word, {"words": words} of a list of words, each at most once, {"each": range} of a list of at
// least one number. A whole number without an upper end of its own ends at a million.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

Json at_least(double least);
Json above(double end);
/// Both ends belong to it.
Json between(double least, double most);
/// 0 <= x < 1: what a moving average may keep.
Json share_below_one();
/// 0 < x <= 1: a part that is not nothing.
Json share_above_zero();

/// What is wrong with a value, in the words of a UserError.
struct LimitFault {
  std::string what, found, expected, todo;
};
/// Empty when the value keeps to the limit, which may be null: then a number has only to be one
/// that every type of number here can hold, as with every other limit.
std::optional<LimitFault> limit_fault(const Json& limit, const Json& value);

/// The number that `text` is the plain spelling of: "8192", but neither "08192", "+8192", " 8192",
/// "8e3" nor digits that no int64_t holds.
std::optional<int64_t> whole_number(const std::string& text);

}  // namespace normbench
