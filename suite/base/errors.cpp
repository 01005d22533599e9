#include "suite/base/errors.h"

namespace normbench {

std::string ErrorText::str() const {
  std::string text = what;
  const auto add = [&text](const char* label, const std::string& value) {
    if (!value.empty()) text += std::string("\n  ") + label + value;
  };
  add("where:    ", where);
  add("found:    ", found);
  add("expected: ", expected);
  add("to do:    ", todo);
  return text;
}

void check_failed(const char* condition, const char* file, int line, const std::string& values) {
  throw std::logic_error(std::string("broken invariant: ") + condition + "\n  where: " + file +
                         ":" + std::to_string(line) + "\n  found: " + values);
}

}  // namespace normbench
