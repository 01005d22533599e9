// Looking a name up in a registry: an explicit list of entries with a `name`.
#pragma once

#include <string>
#include <vector>

#include "suite/base/names.h"

namespace normbench {

/// The entry called `name`. Throws UserError "unknown <what>" with all names and the nearest one;
/// `where`: the key that held the name.
template <class Entry>
const Entry& find_entry(const std::vector<Entry>& entries, const std::string& name,
                        const std::string& what, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UserError({.what = "unknown " + what,
                   .where = where,
                   .found = "\"" + name + "\"",
                   .expected = one_of(names),
                   .todo = did_you_mean(name, names)});
}

}  // namespace normbench
