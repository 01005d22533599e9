#include "suite/judge/overview.h"

#include <gtest/gtest.h>

#include "suite/base/files.h"
#include "suite/base/json.h"
#include "suite/judge/ledger.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

TEST(Overview, ThatIsCommittedIsWhatTheCommittedLedgersSay) {
  const std::string published = NORMBENCH_SOURCE_DIR "/results/published";
  EXPECT_EQ(read_file(published + "/README.md"), overview_page(published))
      << "normbench publish --tier TIER --only TABLE writes it anew";
}

TEST(Overview, HasALineForEveryVerdict) {
  testing::SyntheticOptions options;
  options.budgets = {262144, 524288, 1048576};
  const JudgeInput input = testing::synthetic_input(options);
  const testing::TemporaryFolder runs, published;
  testing::write_all(runs.path(), input, options);
  Json ledger = judge_table(input, runs.path(), "");
  ledger["claims"][0]["statement"] = "a bar | in it";
  ledger["claims"][0]["alone_only"] = true;
  make_folders(published.path("angpt.convergence.cpu"));
  make_folders(published.path("no.ledger.here"));
  write_json(published.path("angpt.convergence.cpu/ledger.json"), ledger);
  const std::string page = overview_page(published.path());
  EXPECT_NE(page.find("| a bar \\| in it (`speed_up`) | gcide_1k | 1.40x | "), std::string::npos)
      << page;
  EXPECT_NE(page.find(" | DIRECTION_ONLY * |\n"), std::string::npos) << page;
  EXPECT_NE(page.find("(`parity`) | gcide_1k | margin 0.020 nats | "), std::string::npos) << page;
  EXPECT_NE(page.find("(angpt.convergence.cpu/ledger.txt), runs: "), std::string::npos) << page;
  EXPECT_EQ(page.find("no.ledger.here"), std::string::npos);
}

}  // namespace
}  // namespace normbench
