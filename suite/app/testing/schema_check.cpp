#include "suite/app/testing/schema_check.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace normbench::testing {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;
using Path = std::vector<std::string>;

/// valijson's path is "<root>", then "[key]" or "[index]".
std::string pointer_of(const Path& path) {
  std::string pointer;
  for (size_t i = 1; i < path.size(); ++i) {
    pointer += '/';
    for (const char c : path[i].substr(1, path[i].size() - 2))
      pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return pointer;
}

bool lies_above(const Path& above, const Path& path) {
  return above.size() < path.size() && std::equal(above.begin(), above.end(), path.begin());
}

std::vector<std::string> paths_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

std::vector<std::string> schema_faults(const std::string& schema_name, const Json& document,
                                       const std::string& file) {
  const Json schema_json =
      read_json(NORMBENCH_SOURCE_DIR "/suite/schemas/" + schema_name + ".schema.json");
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(Adapter(schema_json), schema);
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(schema, Adapter(document), &results)) return {};

  const std::vector<valijson::ValidationResults::Error> errors(results.begin(), results.end());
  std::vector<std::string> faults;
  for (const auto& error : errors) {
    // An error is reported once more at every level above it; the deepest says what is wrong.
    const bool repeated = std::any_of(errors.begin(), errors.end(), [&](const auto& other) {
      return lies_above(error.context, other.context);
    });
    if (!repeated)
      faults.push_back(file + ", at " + pointer_of(error.context) + ": " + error.description);
  }
  return faults;
}

const std::vector<SchemaFiles>& schema_files() {
  static const std::vector<SchemaFiles> files = {
      {"data", "suite/tables/data.json", true},
      {"manifest", "results/published/*/runs/*/manifest.json", false},
      {"measured", "baselines/measured/*/*.json", false},
      {"published", "baselines/published/*.json", true},
      {"sizes", "suite/tables/sizes.json", true},
      {"summary", "results/published/*/runs/*/summary.json", false},
      {"table", "suite/tables/*/*.json", true},
  };
  return files;
}

std::vector<std::string> checkout_faults(const SchemaFiles& files, const std::string& root,
                                         int* checked) {
  const std::filesystem::path pattern(files.pattern);
  std::vector<std::string> faults;
  int total = 0;
  for (const auto& folder : paths_of(root + "/" + pattern.parent_path().string())) {
    if (!std::filesystem::is_directory(folder)) continue;
    const auto paths = paths_of(folder + "/" + pattern.filename().string());
    if (paths.empty())
      faults.push_back(folder + ": holds no " + pattern.filename().string() + " (schema " +
                       files.schema + ")");
    for (const auto& path : paths) {
      ++total;
      for (const auto& fault : schema_faults(files.schema, read_json(path), path))
        faults.push_back(fault);
    }
  }
  if (files.required && total == 0)
    faults.push_back(root + "/" + files.pattern + ": matches no file (schema " + files.schema +
                     ")");
  if (checked != nullptr) *checked += total;
  return faults;
}

}  // namespace normbench::testing
