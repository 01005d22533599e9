#include "suite/base/text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace normbench {

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

int digits_apart(double a, double b, int least) {
  constexpr int kMost = 12;  // beyond it the two are equal for every reader
  for (int digits = least; digits <= kMost; ++digits)
    if (fixed(a, digits) != fixed(b, digits)) return digits;
  return least;
}

std::string plain_text(double value) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string tokens_text(double tokens) {
  double scaled = round_to(tokens, 3);  // first, so that 999,950 is "1.00 M" and not "1000 k"
  std::string unit;
  for (const char* next : {" k", " M", " B"}) {
    if (scaled < 1000) break;
    scaled /= 1000;
    unit = next;
  }
  if (unit.empty()) return fixed(scaled, 0);
  return fixed(scaled, scaled < 10 ? 2 : scaled < 100 ? 1 : 0) + unit;
}

std::string count_text(size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::string all;
  for (const auto& part : parts) all += (all.empty() ? "" : separator) + part;
  return all;
}

std::string wrap(const std::string& text, size_t width, const std::string& indent) {
  std::istringstream words(text);
  std::string word, line, all;
  while (words >> word) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      all += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? all : all + indent + line + "\n";
}

std::string pad(const std::string& text, size_t width, bool right) {
  if (text.size() >= width) return text;
  const std::string blanks(width - text.size(), ' ');
  return right ? blanks + text : text + blanks;
}

double round_to(double value, int digits) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*e", digits - 1, value);
  return std::strtod(buffer.data(), nullptr);
}

}  // namespace normbench
