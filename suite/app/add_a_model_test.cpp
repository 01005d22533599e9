// Follows docs/add-a-model.md literally, in a copy of the checkout: what the page says must work.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "suite/app/testing/process.h"
#include "suite/base/files.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = NORMBENCH_SOURCE_DIR;

/// A fenced block: the words after ``` and its lines.
struct Block {
  std::string info, text;
};

std::vector<Block> blocks_of(const std::string& markdown) {
  std::vector<Block> blocks;
  std::istringstream lines(markdown);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

/// The value of `key=` in a block's info; it ends at a space, the last one at the end of the line.
std::string value_of(const Block& block, const std::string& key, bool last = false) {
  const size_t at = block.info.find(key + "=");
  if (at == std::string::npos) return "";
  const std::string rest = block.info.substr(at + key.size() + 1);
  return last ? rest : rest.substr(0, rest.find(' '));
}

/// The checkout without what is built, installed or recorded; LibTorch and prepared data are
/// shared.
void copy_checkout(const fs::path& to) {
  fs::create_directories(to / "results" / "cache");
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename();
    if (name == "build" || name == "results" || name == ".git" || name == ".deps") continue;
    fs::copy(entry.path(), to / name, fs::copy_options::recursive);
  }
  if (fs::exists(kRoot / ".deps")) fs::create_symlink(kRoot / ".deps", to / ".deps");
  fs::create_symlink(kRoot / "results" / "cache" / "datasets",
                     to / "results" / "cache" / "datasets");
}

void expect_success(const std::vector<std::string>& command, const fs::path& directory) {
  const auto result = testing::run_program(command, directory.string());
  ASSERT_EQ(result.exit_code, 0) << command[0] << " " << command[1] << "\n"
                                 << result.out << result.err;
}

TEST(ThePage, DoesWhatItSays) {
  const testing::TemporaryFolder temporary(testing::TemporaryFolder::kDisk);
  const fs::path copy = fs::path(temporary.path()) / "normbench";
  copy_checkout(copy);

  int files = 0, insertions = 0, merges = 0;
  std::string command;
  for (const auto& block : blocks_of(read_file((kRoot / "docs" / "add-a-model.md").string()))) {
    if (const auto file = value_of(block, "file"); !file.empty()) {
      ASSERT_FALSE(fs::exists(copy / file)) << file;
      write_file_atomically((copy / file).string(), block.text);
      ++files;
    } else if (const auto target = value_of(block, "insert-into"); !target.empty()) {
      std::string text = read_file((copy / target).string());
      const std::string before = value_of(block, "before", /*last=*/true);
      const size_t at = text.find(before);
      ASSERT_NE(at, std::string::npos) << before;
      write_file_atomically((copy / target).string(), text.insert(at, block.text));
      ++insertions;
    } else if (const auto table = value_of(block, "merge-into"); !table.empty()) {
      Json json = read_json((copy / table).string());
      json.merge_patch(Json::parse(block.text));
      write_json((copy / table).string(), json);
      ++merges;
    } else if (block.info == "sh") {
      command = block.text;
    } else {
      ADD_FAILURE() << "a block that nobody carries out: " << block.info;
    }
  }
  EXPECT_EQ(files, 1);  // one file, one line (and its include), one arm
  EXPECT_EQ(insertions, 2);
  EXPECT_EQ(merges, 1);

  const std::string preset = NORMBENCH_PRESET;
  expect_success({NORMBENCH_CMAKE, "--preset", preset}, copy);
  expect_success({NORMBENCH_CMAKE, "--build", "--preset", preset, "--target", "normbench_test_list",
                  "-j", "2"},
                 copy);
  const fs::path bin = copy / "build" / preset / "bin";
  ASSERT_TRUE(command.starts_with("normbench run ")) << command;
  const std::string name = command.substr(14, command.size() - 15);
  const auto run = testing::run_program({(bin / "normbench").string(), "run", name}, copy.string());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("validation loss"), std::string::npos) << run.out;
  // And the tests of the table know the arm.
  const std::string tests = read_file((copy / "build" / preset / "tables_tests.cmake").string());
  EXPECT_NE(tests.find("check.angpt.convergence.smoke.regression.mean_norm.validation_loss"),
            std::string::npos);
}

}  // namespace
}  // namespace normbench
