#include "suite/app/required.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "suite/base/json.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

const std::vector<std::string> kKnown = {"gpu", "data", "baseline"};

std::vector<std::string> required_words() {
  const char* list = std::getenv("NORMBENCH_REQUIRE");
  std::vector<std::string> words;
  std::istringstream text(list == nullptr ? "" : list);
  for (std::string word; std::getline(text, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace

bool is_required(const std::string& what) {
  const auto words = required_words();
  return std::find(words.begin(), words.end(), what) != words.end();
}

void check_required_words() {
  for (const auto& word : required_words()) {
    if (is_one_of(word, kKnown)) continue;
    throw UserError({.what = "an unknown requirement",
                     .where = "NORMBENCH_REQUIRE",
                     .found = "\"" + word + "\"",
                     .expected = "gpu, data, baseline, or several with commas",
                     .todo = did_you_mean(word, kKnown)});
  }
}

}  // namespace normbench
