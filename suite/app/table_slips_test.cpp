// A slip in a table file is an error of `normbench plan`, before anything runs.
#include "suite/app/testing/checkout.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;

TEST(TableSlips, ABudgetThatIsNoWholeNumberOfStepsIsAnErrorBeforeAnythingRuns) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["token_budgets"][0] = 16385;
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2,
               "a multiple of 8 sequences x 64 tokens = 512");
}

TEST(TableSlips, AnUnknownArmInAClaimOrARateIsAnError) {
  const Checkout checkout;
  const Json good = checkout.table();
  Json claim = good, rate = good;
  claim["claims"][0]["challenger"] = "angtp";
  rate["tiers"]["smoke"]["settings"]["gcide_1k"]["peak_lr"]["angtp"] = Json::array({{16384, 0.01}});
  for (const Json& table : {claim, rate}) {
    checkout.set_table(table);
    expect_error(checkout.normbench({"plan"}), 2, "no such arm");
  }
}

TEST(TableSlips, AMistypedOptionOfAModelIsFoundWithTheNearestOne) {
  const Checkout checkout;
  Json table = checkout.table();
  table["arms"]["angpt"]["model_options"]["alpha_initt"] = 0.1;
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2, "did you mean \"alpha_init\"?");
}

TEST(TableSlips, AMistypedKeyOfATableIsFoundWithFileAndPath) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["sedes"] = {1};
  checkout.set_table(table);
  const auto result = checkout.normbench({"plan"});
  expect_error(result, 2, "convergence.json, at /tiers/smoke/settings/gcide_1k/sedes");
  EXPECT_NE(result.err.find("did you mean \"seeds\"?"), std::string::npos) << result.err;
}

TEST(TableSlips, ASweepThatUsesAVerdictSeedIsAnError) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["sweep"]["seeds"] = {0};
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2,
               "a seed of the sweep is also a seed of the verdict");
}

TEST(TableSlips, AnArmWithoutARateAtABudgetIsAnError) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["peak_lr"]["angpt"] = {{1024, 0.01},
                                                                         {16384, 0.01}};
  checkout.set_table(table);
  expect_error(checkout.normbench({"plan"}), 2, "no tuned learning rate");
}

/// Every slip that a run or a judgement would trip over hours later.
TEST(TableSlips, ATableThatCannotBeRunOrJudgedIsAnErrorOfThePlan) {
  const Checkout checkout;
  const Json good = checkout.table();
  const std::string setting = "/tiers/smoke/settings/gcide_1k";
  struct Slip {
    std::string pointer;
    Json value;
    std::vector<std::string> words;
  };
  const std::vector<Slip> slips = {
      {"/arms/angpt/model_options/nu_alpha", "foo", {"/arms/angpt", "elementwise"}},
      {"/arms/angpt/model_options/rope_fraction", 0.3, {"/arms/angpt", "4.8 of 16"}},
      {"/arms/angpt/model_options/rope_fraction", 0.0625, {"/arms/angpt", "an even number"}},
      {"/arms/angpt/model_options/g_init", 1e300, {"/arms/angpt/model_options/g_init", "1e30"}},
      {"/arms/angpt/probes", {"branch_rato"}, {"did you mean \"branch_ratio\"?"}},
      {"/arms/angpt/schedule_options/warmup_fraction", 1.5, {"/arms/angpt/schedule_options"}},
      {"/arms/angpt/schedule_options/warmup_steps",
       1'000'000'000'000'000'000,
       {"/arms/angpt/schedule_options/warmup_steps", "at most 1000000"}},
      {"/tiers/smoke/precision", "fp16", {"/tiers/smoke/precision", "bf16-mixed"}},
      {"/tiers/smoke/device", "tpu", {"/tiers/smoke/device"}},
      {"/tiers/smoke/threads", 0, {"/tiers/smoke/threads"}},
      {"/tiers/smoke/noise", {{"loss_sd", 0.1}}, {"/tiers/smoke/noise"}},
      {setting + "/dataset", "gcide_9k", {setting + "/dataset", "data prepare --name gcide_9k"}},
      {setting + "/divergence_loss_above", 6.9, {setting + "/divergence_loss_above", "6.93"}},
      {setting + "/validation_tokens", 1 << 29, {setting + "/validation_tokens", "at most"}},
      {setting + "/clip_norm", 0.0, {setting + "/clip_norm"}},
      {setting + "/seeds", {0, 0}, {setting + "/seeds"}},
      {setting + "/peak_lr/angpt", Json::array(), {setting + "/peak_lr/angpt"}},
      {setting + "/peak_lr/angpt/0/1", -1.0, {setting + "/peak_lr/angpt"}},
      {"/claims/0/rule", "speed_upp", {"/claims/0/rule", "did you mean \"speed_up\"?"}},
      {"/claims/0/challanger", "angpt", {"/claims/0/challanger", "did you mean \"challenger\"?"}},
      {"/claims/0/published", "/nowhere", {"/claims/0/published"}},
      {"/claims/0/datasets", {"gcide_1kk"}, {"/claims/0/datasets"}},
  };
  for (const auto& slip : slips) {
    Json table = good;
    table[Json::json_pointer(slip.pointer)] = slip.value;
    checkout.set_table(table);
    const auto result = checkout.normbench({"plan", "--tier", "smoke"});
    for (const auto& word : slip.words) expect_error(result, 2, word);
    expect_error(result, 2, "convergence.json");
  }
  checkout.set_table(good);
  EXPECT_EQ(checkout.normbench({"plan", "--tier", "smoke"}).exit_code, 0);
}

/// What options mean together only the model and the optimiser know, which `plan` cannot build.
TEST(TableSlips, AnArmThatCannotBeBuiltIsAnErrorOfTheListOfTests) {
  const Checkout checkout;
  const Json good = checkout.table();
  const std::string list = checkout.path() + "/tests.cmake";
  const std::pair<const char*, Json> slips[] = {
      {"s_scale", {{"model_options", {{"sz_scale", 0.2}, {"alpha_scale", 0.2}, {"s_scale", 0.1}}}}},
      {"angular_cap",
       {{"optimizer", "adamw_capped"}, {"optimizer_options", {{"cap", "constant"}}}}}};
  for (const auto& [words, changes] : slips) {
    Json table = good;
    table["arms"]["angpt"].update(changes);
    checkout.set_table(table);
    const auto result = checkout.normbench({"plan", "--ctest", list});
    expect_error(result, 2, "convergence.json, at /arms/angpt cannot be built");
    expect_error(result, 2, words);
    EXPECT_FALSE(std::filesystem::exists(list));
  }
  checkout.set_table(good);
  EXPECT_EQ(checkout.normbench({"plan", "--ctest", list}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(list));
}

TEST(TableSlips, ATableThatNobodyCouldRunIsNotPassedOver) {
  for (const auto& [file, words] :
       {std::pair("mine/x.y.json", "not a name for a paper or a table"),
        std::pair("mine/bad name.json", "\"bad name\""), std::pair("mine;x/t.json", "\"mine;x\""),
        std::pair("t.json", "what lies among the tables is no table"),
        std::pair("mine/T.JSON", "suite/tables/mine/T.JSON")}) {
    const Checkout checkout;
    write_json(checkout.path() + "/suite/tables/" + file, checkout.table());
    expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2, words);
  }
}

TEST(TableSlips, PublishedNumbersInAnUnknownFormatAreAnError) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/baselines/published/angpt.json";
  Json numbers = read_json(file);
  numbers["schema"] = "x";
  write_json(file, numbers);
  expect_error(checkout.normbench({"plan", "--tier", "smoke", "--only", "angpt.convergence"}), 2,
               "angpt.json, at /schema");
}

TEST(TableSlips, ANumberThatJsonCannotHoldIsAnErrorWithItsLine) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/suite/tables/angpt/convergence.json";
  std::string text = read_file(file);
  const std::string key = "\"clip_norm\": ";
  const size_t at = text.find(key);
  ASSERT_NE(at, std::string::npos);
  text.insert(at + key.size(), "1e999, \"x\": ");
  write_file_atomically(file, text);
  expect_error(checkout.normbench({"plan"}), 2, "convergence.json:");
}

TEST(TableSlips, APatternOfLayersIsReadBeforeAnythingRuns) {
  const Checkout checkout;
  Json table = checkout.table();
  Json& arm = table["arms"]["angpt"];
  arm["model"] = "ngpt_hybrid";
  for (const char* pattern : {"", "MX"}) {
    arm["model_options"] = {{"pattern", pattern}};
    checkout.set_table(table);
    expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2,
                 "/arms/angpt/model_options/pattern");
  }
}

TEST(TableSlips, ACrossingOrAGrowthIsNotReadOffOneBudget) {
  for (const auto& [name, words] :
       {std::pair("ngpt/token_ratio", "on one budget"),
        std::pair("simplegpt/convergence", "how a gap grows, on one budget")}) {
    const Checkout checkout;
    const std::string file = checkout.path() + "/suite/tables/" + name + ".json";
    Json table = read_json(file);
    for (auto& setting : table["tiers"]["smoke"]["settings"]) {
      Json& budgets = setting["token_budgets"];
      budgets = Json::array({budgets.back()});
    }
    write_json(file, table);
    expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2, words);
  }
}

TEST(TableSlips, AProbeThatNoRunIsAskedWithIsAnError) {
  const Checkout checkout;
  const std::string file = checkout.path() + "/suite/tables/simplegpt/lr_stability.json";
  Json table = read_json(file);  // sweeps alone
  const std::string arm = table["arms"].begin().key();
  table["arms"][arm]["probes"] = {"residual_norm"};
  write_json(file, table);
  expect_error(checkout.normbench({"plan", "--tier", "smoke"}), 2, "/arms/" + arm + "/probes");
}

}  // namespace
}  // namespace normbench
