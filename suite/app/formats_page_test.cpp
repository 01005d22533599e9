// What docs/formats.md shows as an example is one.
#include "suite/app/testing/checkout.h"
#include "suite/app/testing/schema_check.h"

namespace normbench {
namespace {

using testing::Checkout;

const std::string kPage = NORMBENCH_SOURCE_DIR "/docs/formats.md";

Json example() {
  const std::string page = read_file(kPage), begin = "```json\n", end = "```\n";
  const size_t from = page.find(begin);
  if (from == std::string::npos) return Json();
  const size_t start = from + begin.size();
  return parse_json(page.substr(start, page.find(end, start) - start), kPage);
}

TEST(FormatsPage, ItsExampleIsATableWithNothingToSpare) {
  const Checkout checkout;
  const Json table = example();
  const auto plan = [&](const Json& changed) {
    write_json(checkout.path() + "/suite/tables/mine/first.json", changed);
    return checkout.normbench({"plan", "--only", "mine.first"});
  };
  EXPECT_EQ(testing::schema_faults("table", table, kPage), std::vector<std::string>());
  const auto whole = plan(table);
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_NE(whole.out.find("mine.first smoke: 4 runs"), std::string::npos) << whole.out;
  for (const auto& key : {"/title", "/deviations", "/arms/angpt/label", "/tiers/smoke/device",
                          "/tiers/smoke/settings/small/clip_norm", "/claims/0/statement"}) {
    Json less = table;
    const Json::json_pointer place(key);
    less[place.parent_pointer()].erase(place.back());
    EXPECT_EQ(plan(less).exit_code, 2) << key;
    EXPECT_NE(testing::schema_faults("table", less, kPage), std::vector<std::string>()) << key;
  }
}

}  // namespace
}  // namespace normbench
