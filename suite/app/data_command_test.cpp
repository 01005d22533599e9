// `normbench data` on bad options and damaged data sets.
#include "suite/app/testing/checkout.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;

TEST(DataCommand, APackageFileForTextThatComesFromNoneIsAnError) {
  const Checkout checkout;
  expect_error(checkout.normbench({"data", "prepare", "synthetic", "--deb", "a.txt"}), 2,
               "comes from no package");
  expect_error(checkout.normbench({"data", "prepare", "--tier", "smoke", "--only",
                                   "simplegpt.hessian", "--deb", "a.txt"}),
               2, "0 names");
}

/// A data set whose sidecar was cut.
void cut_sidecar(const Checkout& checkout, const std::string& name) {
  write_file_atomically(checkout.path() + "/results/cache/datasets/" + name + "/dataset.json",
                        "{\"sch");
}

TEST(DataCommand, ACutSidecarStopsNeitherPlanNorJudgeNorItsRepair) {
  const Checkout checkout;
  Json table = checkout.table();
  table["tiers"]["smoke"]["settings"]["gcide_1k"]["dataset"] = "synthetic";
  checkout.set_table(table);
  const auto call = [&](std::vector<std::string> command) {
    command.insert(command.end(), {"--tier", "smoke", "--only", "angpt.convergence"});
    return checkout.normbench(command);
  };
  const auto planned = call({"plan", "--list"}),
             judged = call({"judge", "--claim", "angpt_speed_up"});
  cut_sidecar(checkout, "synthetic");
  const auto plan = call({"plan", "--list"}), judge = call({"judge", "--claim", "angpt_speed_up"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.out, planned.out) << "the committed digests name the runs";
  EXPECT_NE(plan.err.find("normbench data prepare --again synthetic"), std::string::npos)
      << plan.err;
  EXPECT_EQ(judge.exit_code, judged.exit_code) << judge.err;
  EXPECT_EQ(judge.out, judged.out);
  const auto prepared = call({"data", "prepare"});
  EXPECT_EQ(prepared.exit_code, 0) << prepared.err;
  const auto verified = checkout.normbench({"data", "verify", "synthetic"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST(DataCommand, VerifyPrintsDigestsAndGoesOnAfterADamagedSidecar) {
  const Checkout checkout;
  const auto prepared = checkout.normbench({"data", "prepare", "synthetic"});
  const Json sidecar =
      read_json(checkout.path() + "/results/cache/datasets/synthetic/dataset.json");
  const auto digest = [&](const char* split) {
    return sidecar.at(split).at("digest").get<std::string>();
  };
  const std::string digests = "digests of the tokens: " + digest("train") + " (training), " +
                              digest("validation") + " (validation)";
  EXPECT_NE(prepared.err.find(digests), std::string::npos) << prepared.err;
  cut_sidecar(checkout, "cut");
  const auto verified = checkout.normbench({"data", "verify"});
  EXPECT_EQ(verified.exit_code, 1) << verified.err;
  for (const auto& words :
       std::vector<std::string>{"cut: not valid JSON", "normbench data prepare --again cut",
                                "synthetic: whole; " + digests})
    EXPECT_NE(verified.out.find(words), std::string::npos) << verified.out;
  expect_error(checkout.normbench({"data", "verify", "synthetik"}), 2,
               "did you mean \"synthetic\"?");
}

TEST(DataCommand, EveryPatternOfShardsMatchesAFile) {
  const Checkout checkout;
  write_file_atomically(checkout.path() + "/t_train.bin", "tokens");
  expect_error(checkout.normbench({"data", "prepare", "--name", "mine", "--llmc-shards",
                                   checkout.path() + "/t_*.bin", checkout.path() + "/nope.bin"}),
               2, "nope.bin");
}

TEST(DataCommand, ATableThatOnlyMeasuresNeedsNoText) {
  const Checkout checkout;
  const auto none =
      checkout.normbench({"data", "prepare", "--tier", "smoke", "--only", "simplegpt.hessian"});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_NE(none.out.find("needs no data set"), std::string::npos) << none.out;
}

}  // namespace
}  // namespace normbench
