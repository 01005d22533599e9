// Numbers as a reader sees them. One place, so that terminal, page and reasons say the same.
#pragma once

#include <string>
#include <vector>

namespace normbench {

/// "1.234"; "-" for NaN, "inf" for infinity.
std::string fixed(double value, int digits);
/// Decimals, `least` or more, with which two numbers that differ do not print alike: an end of an
/// interval and the limit that it is compared with.
int digits_apart(double a, double b, int least);
/// Six significant digits, as short as they are: "2", "-0.0528", "1.2e-16".
std::string plain_text(double value);
/// "512", "65.5 k", "1.05 M", "10.5 B".
std::string tokens_text(double tokens);
/// "3 runs", "1 run".
std::string count_text(size_t n, const std::string& noun);
std::string join(const std::vector<std::string>& parts, const std::string& separator);
/// Breaks at blanks; every line begins with `indent`.
std::string wrap(const std::string& text, size_t width, const std::string& indent);
std::string pad(const std::string& text, size_t width, bool right = false);
/// Rounded to `digits` significant digits: .0113137 -> .0113.
double round_to(double value, int digits);

}  // namespace normbench
