// What the worker can build, read from registry.json (written by `normbench-worker registry` after
// it is linked): so that the torch-free planner knows every default and finds a mistyped option
// before anything runs.
#pragma once

#include <string>

#include "suite/base/json.h"

namespace normbench {

class Registry {
 public:
  /// Throws UserError when the file is absent, with the command that makes it.
  explicit Registry(const std::string& file);

  /// Defaults of `name` with `given` laid over them. kind: "models", "optimizers" or "schedules".
  /// Throws UserError located at `where` on an unknown name or option, or on an option of another
  /// type, with the nearest known one.
  Json resolve(const std::string& kind, const std::string& name, const Json& given,
               const std::string& where) const;

 private:
  Json json_;
};

}  // namespace normbench
