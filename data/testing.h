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

namespace normbench {

/// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "normbench_data_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name, const std::string& bytes) const {
    write_file_atomically(path_ + "/" + name, bytes);
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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
