// What the tests of this folder share: a temporary cache, a small data set, and "throws with these
// words".
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/dataset.h"
#include "suite/base/errors.h"
#include "suite/base/files.h"
#include "suite/base/testing/temporary_folder.h"

namespace normbench {

using testing::TemporaryFolder;

/// A few hundred generated documents, prepared in a fraction of a second.
inline DatasetSpec tiny_spec(const std::string& name = "tiny") {
  DatasetSpec spec;
  spec.name = name;
  spec.corpus = "synthetic";
  spec.options = {{"documents", 300}, {"seed", 1}};
  spec.tokenizer.vocabulary = 320;
  spec.validation_share = 0.1;
  return spec;
}

/// The message of the UserError that `f` throws; fails the test when it throws none.
template <class F>
std::string user_error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError was thrown";
  return {};
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const auto& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "\"" << word << "\" in: " << text;
}

/// Changes one byte of a file in place.
inline void flip_byte(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const char c = static_cast<char>(file.get() ^ 0x40);
  file.seekp(at);
  file.put(c);
  ASSERT_TRUE(file.good()) << path;
}

}  // namespace normbench
