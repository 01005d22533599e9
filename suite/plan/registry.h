// What the worker can build, read from registry.json (written by `normbench-worker registry` after
// it is linked): so that the torch-free planner knows every default and finds a mistyped option
// before anything runs.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

class Registry {
 public:
  /// Throws UserError when the file is absent, with the command that makes it.
  explicit Registry(const std::string& file);

  /// Defaults of `name` with `given` laid over them, less the options that were added when records
  /// existed and hold their default. kind: "models", "optimizers", "schedules" or "tasks".
  /// Throws UserError located at `where` on an unknown name or option, on an option of another
  /// type, and on a value beyond the option's limit (suite/base/limits.h).
  Json resolve(const std::string& kind, const std::string& name, const Json& given,
               const std::string& where) const;

  /// Throws UserError located at `where` on a probe that the worker does not know, and on one that
  /// is named twice.
  void check_probes(const std::vector<std::string>& probes, const std::string& where) const;

  /// What the worker was built for: "cpu", or "cpu" and "cuda".
  std::vector<std::string> devices() const;

  /// With which a measuring task is done to hash what it computes. `task` must be known.
  Json canary_options(const std::string& task) const;

 private:
  Json json_;
};

}  // namespace normbench
