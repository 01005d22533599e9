// `normbench data` on bad options and damaged data sets.
#include "suite/app/testing/checkout.h"

namespace normbench {
namespace {

using testing::Checkout;
using testing::expect_error;
using testing::kProgram;
using testing::ProcessResult;
using testing::run_program;

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
  Json& setting = table["tiers"]["smoke"]["settings"]["gcide_1k"];
  setting["dataset"] = "synthetic";
  setting["validation_tokens"] = 8192;  // it has 16,010
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

void expect_words(const ProcessResult& result, int exit_code,
                  const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  for (const auto& word : words)
    EXPECT_NE((result.out + result.err).find(word), std::string::npos)
        << word << " is not in: " << result.out << result.err;
}

/// Tokens of two bytes, 0 to 99 again and again.
void write_shards(const std::string& folder) {
  for (const char* split : {"/train.bin", "/val.bin"}) {
    std::string bytes;
    for (int i = 0; i < 5000; ++i) bytes += {static_cast<char>(i % 100), '\0'};
    write_file_atomically(folder + split, bytes);
  }
}

/// A gpu tier that trains on `name`, which data.json does not have.
void want(const Checkout& checkout, const std::string& name) {
  Json table = checkout.table();
  Json& tier = table["tiers"]["gpu"];
  for (auto& setting : tier["settings"]) {
    setting["dataset"] = name;
    setting["validation_tokens"] = 2048;
  }
  checkout.set_table(table);
}

TEST(DataCommand, ASetThatATierWantsAndNobodyBroughtIsNamedEverywhere) {
  const Checkout checkout;
  want(checkout, "my_tokens");
  const std::string wanted = "wanted by gpu: angpt.convergence";
  const std::vector<std::string> tier = {"--tier", "gpu", "--only", "angpt.convergence"};
  const auto call = [&](std::vector<std::string> command, const std::string& required = "") {
    command.insert(command.begin(), {"/usr/bin/env", "NORMBENCH_REQUIRE=" + required, kProgram,
                                     "--root", checkout.path()});
    return run_program(command);
  };
  const auto of_tier = [&](std::vector<std::string> command) {
    command.insert(command.end(), tier.begin(), tier.end());
    return command;
  };
  const std::string todo = "normbench data prepare --name NAME";
  expect_words(call(of_tier({"plan"})), 0,
               {"runs wait for the data set my_tokens", "yours to bring: my_tokens", todo});
  expect_words(call({"data", "list"}), 0, {"my_tokens", "yours to bring", wanted, todo});
  expect_words(call(of_tier({"data", "prepare"})), 0, {"my_tokens is yours", wanted, todo});
  expect_words(call(of_tier({"data", "prepare"}), "data"), 3, {"machine error", "my_tokens", todo});
  // As the fixture of CTest asks for it: skipped, so that its runs say so too.
  expect_words(call({"data", "prepare", "my_tokens"}), 77, {"skipped: my_tokens", todo});
  expect_words(call({"data", "prepare", "my_tokens"}, "data"), 3, {"my_tokens"});
  expect_words(call({"data", "prepare", "my_token"}), 2, {"did you mean \"my_tokens\"?"});
}

TEST(DataCommand, ASetOfOnesOwnIsLookedAtAndNeverFetched) {
  const Checkout checkout;
  want(checkout, "my_tokens");
  const std::string folder = checkout.path() + "/mine";
  write_shards(folder);
  const auto prepare_own =
      checkout.normbench({"data", "prepare", "--name", "my_tokens", "--nanogpt", folder});
  ASSERT_EQ(prepare_own.exit_code, 0) << prepare_own.err;
  expect_words(checkout.normbench({"data", "prepare", "my_tokens"}), 0, {"is prepared already"});
  expect_words(
      checkout.normbench({"data", "prepare", "--tier", "gpu", "--only", "angpt.convergence"}), 0,
      {"is prepared already"});
  expect_words(checkout.normbench({"data", "prepare", "--again", "my_tokens"}), 2,
               {"--again --name my_tokens --nanogpt " + folder});
  const auto row = [&] {
    const std::string list = checkout.normbench({"data", "list"}).out;
    const size_t at = list.find("\nmy_tokens");
    return at == std::string::npos ? list : list.substr(at + 1, list.find('\n', at + 1) - at - 1);
  };
  EXPECT_NE(row().find(" yes "), std::string::npos) << "a default is no difference: " << row();
  EXPECT_NE(row().find(" - "), std::string::npos) << "bytes a token are unknown: " << row();
  std::filesystem::rename(folder, folder + "2");
  EXPECT_NE(row().find(" damaged "), std::string::npos) << row();
  expect_words(checkout.normbench({"data", "list"}), 0,
               {folder + "/train.bin: the file is missing", "--nanogpt " + folder});
  expect_words(checkout.normbench({"data", "prepare", "my_tokens"}), 2, {"the file is missing"});
  cut_sidecar(checkout, "my_tokens");
  expect_words(checkout.normbench({"data", "prepare", "my_tokens"}), 2,
               {"--again --name my_tokens and the source"});
}

TEST(DataCommand, HelpSaysTheDefaultVocabularyAndWhatADocumentIs) {
  const Checkout checkout;
  expect_words(checkout.normbench({"data", "prepare", "--help"}), 0,
               {"4096", "largest id + 1", "4 kB"});
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
