#include "suite/base/names.h"

#include <algorithm>

namespace normbench {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

// The name in `known` nearest to `name` (edit distance), or empty when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 2) + 1;
  for (const auto& candidate : known) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !name.empty() && name.size() <= 100 && letters.find(name.front()) != std::string::npos &&
         name.find_first_not_of(letters + "_-.") == std::string::npos;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& known) {
  return std::find(known.begin(), known.end(), name) != known.end();
}

std::string one_of(const std::vector<std::string>& known) {
  std::string all;
  for (const auto& name : known) all += (all.empty() ? "one of: " : ", ") + name;
  return all;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  const std::string hint = nearest(name, known);
  return hint.empty() ? otherwise : "did you mean \"" + hint + "\"?";
}

void require_known(const JsonObject& object, const std::string& key, const std::string& what,
                   const std::string& name, const std::vector<std::string>& known) {
  if (!is_one_of(name, known))
    object.fail(key, what, "\"" + name + "\"", one_of(known), did_you_mean(name, known));
}

}  // namespace normbench
