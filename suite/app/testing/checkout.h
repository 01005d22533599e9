// Starts `normbench` as a person would, on the checkout or on a copy that a test may spoil.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "suite/app/testing/process.h"
#include "suite/base/files.h"
#include "suite/base/json.h"

namespace normbench::testing {

inline const std::string kProgram = NORMBENCH_PROGRAMS "/normbench";

inline ProcessResult normbench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kProgram, "--root", NORMBENCH_SOURCE_DIR});
  return run_program(arguments);
}

/// A checkout's tables and baselines under another root, so that a test may spoil them.
class Checkout {
 public:
  Checkout() {
    for (const char* part : {"suite/tables", "baselines"}) {
      std::filesystem::create_directories(folder_.path() + "/" + part);
      std::filesystem::copy(std::string(NORMBENCH_SOURCE_DIR) + "/" + part,
                            folder_.path() + "/" + part,
                            std::filesystem::copy_options::recursive |
                                std::filesystem::copy_options::overwrite_existing);
    }
  }
  std::string path() const { return folder_.path(); }
  ProcessResult normbench(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {kProgram, "--root", path()});
    return run_program(arguments);
  }
  Json table() const { return read_json(path() + "/suite/tables/angpt/convergence.json"); }
  void set_table(const Json& table) const {
    write_json(path() + "/suite/tables/angpt/convergence.json", table);
  }

 private:
  TemporaryFolder folder_;
};

inline void expect_error(const ProcessResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
}

/// Id and name of the first run that `plan --list` shows in this state.
inline std::pair<std::string, std::string> first_run(const ProcessResult& plan,
                                                     const std::string& state) {
  std::istringstream lines(plan.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" " + state + " ") == std::string::npos) continue;
    std::string id;
    std::istringstream(line) >> id;
    return {id, line.substr(line.rfind(' ') + 1)};
  }
  ADD_FAILURE() << "no run is listed as " << state << "\n" << plan.out << plan.err;
  return {};
}

/// What a test must find unchanged: every file below a folder, with its bytes.
inline std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path().string());
  return files;
}

inline std::vector<std::string> folders_of(const std::string& runs) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(runs))
    folders.push_back(entry.path().string());
  return folders;
}

}  // namespace normbench::testing
