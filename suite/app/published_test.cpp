// What lies in results/published/ against what `normbench judge` makes of its records now: a rule
// that changes its mind must change the committed ledger in the same commit.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "suite/app/testing/process.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;
using testing::run_program;
using testing::TemporaryFolder;

const std::string kRoot = NORMBENCH_SOURCE_DIR;

std::vector<std::string> published_folders() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRoot + "/results/published"))
    if (fs::exists(entry.path() / "ledger.json")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The ledger that `judge` writes of records in `runs`, and, when asked for, prints; the name of a
/// folder is PAPER.TABLE.TIER.
Json judged(const std::string& name, const std::string& runs, std::string* printed = nullptr) {
  const TemporaryFolder folder;
  const size_t dot = name.rfind('.');
  const std::string file = folder.path("ledger.json");
  const auto result = run_program({NORMBENCH_PROGRAMS "/normbench", "--root", kRoot, "judge",
                                   "--tier", name.substr(dot + 1), "--only", name.substr(0, dot),
                                   "--runs", runs, "--json", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  if (printed != nullptr) *printed = result.out;
  return read_json(file).at(0);
}

class Published : public ::testing::TestWithParam<std::string> {};

TEST_P(Published, TheCommittedLedgerIsWhatItsRecordsSay) {
  const std::string folder = kRoot + "/results/published/" + GetParam();
  std::string printed;
  const Json now = judged(GetParam(), folder + "/runs", &printed),
             committed = read_json(folder + "/ledger.json");
  EXPECT_EQ(now, committed) << "normbench publish --tier TIER --only TABLE writes it anew; what "
                               "differs: "
                            << Json::diff(committed, now).dump(1).substr(0, 2000);
  EXPECT_EQ(printed, read_file(folder + "/ledger.txt") + "\n") << folder + "/ledger.txt is stale";
}

INSTANTIATE_TEST_SUITE_P(All, Published, ::testing::ValuesIn(published_folders()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(PublishedRecords, OneThatIsEditedChangesTheLedger) {
  const std::string name = "ngpt.lgp.cpu";
  const TemporaryFolder folder;
  fs::copy(kRoot + "/results/published/" + name + "/runs", folder.path("runs"),
           fs::copy_options::recursive);
  const fs::path record = fs::directory_iterator(folder.path("runs"))->path() / "summary.json";
  std::string text = read_file(record.string());
  text.replace(text.find("\"tokens\""), 8, "\"tokenz\"");
  write_file_atomically(record.string(), text);
  EXPECT_NE(judged(name, folder.path("runs")),
            read_json(kRoot + "/results/published/" + name + "/ledger.json"));
}

}  // namespace
}  // namespace normbench
