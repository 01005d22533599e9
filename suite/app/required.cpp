#include "suite/app/required.h"

#include <cstdlib>

namespace normbench {

bool is_required(const std::string& what) {
  const char* list = std::getenv("NORMBENCH_REQUIRE");
  return list != nullptr &&
         ("," + std::string(list) + ",").find("," + what + ",") != std::string::npos;
}

}  // namespace normbench
