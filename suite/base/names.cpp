#include "suite/base/names.h"

#include <algorithm>

namespace normbench {

bool is_plain_name(const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !name.empty() && letters.find(name.front()) != std::string::npos &&
         name.find_first_not_of(letters + "_-.") == std::string::npos;
}

void require_known(const JsonObject& object, const std::string& key, const std::string& what,
                   const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string all;
  for (const auto& one : known) all += (all.empty() ? "" : ", ") + one;
  const std::string hint = nearest(name, known);
  object.fail(key, what, "\"" + name + "\"", "one of: " + all,
              hint.empty() ? "" : "did you mean \"" + hint + "\"?");
}

}  // namespace normbench
