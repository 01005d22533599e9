// JSON documents against suite/schemas/<name>.schema.json. The strict readers decide what the
// program accepts; a schema says the same to an editor, a script or a person, and this check keeps
// the two from drifting apart.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench::testing {

/// Every fault of `document`, each "<file>, at <JSON pointer>: <what>"; empty when it fits the
/// schema. Throws UserError when there is no such schema or it cannot be read.
std::vector<std::string> schema_faults(const std::string& schema, const Json& document,
                                       const std::string& file);

/// Where files of one format lie in a checkout.
struct SchemaFiles {
  std::string schema;
  std::string pattern;  // relative to the root, with * for one name
  bool required;        // false: a checkout may have none
};
const std::vector<SchemaFiles>& schema_files();

/// For the names that CTest lists; GoogleTest would print the bytes, addresses among them.
inline void PrintTo(const SchemaFiles& files, std::ostream* out) { *out << files.schema; }

/// Checks every file that matches. A fault as well: no file although one is required, and a folder
/// of the pattern that exists but holds none. `*checked`, if given, is increased by the number of
/// files read.
std::vector<std::string> checkout_faults(const SchemaFiles& files, const std::string& root,
                                         int* checked = nullptr);

}  // namespace normbench::testing
