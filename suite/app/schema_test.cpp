// Every JSON file of the checkout against its schema, and every schema against documents that it
// must refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "suite/app/testing/schema_check.h"
#include "suite/base/files.h"
#include "suite/judge/bless.h"
#include "suite/judge/claim.h"
#include "suite/judge/gate.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench {
namespace {

using testing::checkout_faults;
using testing::schema_faults;
using testing::schema_files;
using testing::SchemaFiles;
using testing::TemporaryFolder;

const std::string kRoot = NORMBENCH_SOURCE_DIR;

std::string lines(const std::vector<std::string>& faults) {
  std::string text;
  for (const auto& fault : faults) text += fault + "\n";
  return text;
}

std::string name_of(const ::testing::TestParamInfo<SchemaFiles>& info) { return info.param.schema; }

/// A manifest as suite/train/trainer.cpp writes it; resume_test.cpp checks a real one.
Json manifest_example() {
  const std::string digest = "00112233445566778899aabbccddeeff";
  const Json size = {{"num_layers", 2}, {"width", 32},       {"num_heads", 2}, {"head_width", 16},
                     {"mlp_width", 64}, {"vocabulary", 512}, {"context", 32}};
  const Json config = {{"model", "angpt"},
                       {"model_options", Json::object()},
                       {"size", size},
                       {"optimizer", "adamw"},
                       {"optimizer_options", Json::object()},
                       {"schedule", "cosine"},
                       {"schedule_options", Json::object()},
                       {"peak_lr", 0.01},
                       {"clip_norm", 1.0},
                       {"token_budget", 10240},
                       {"batch_sequences", 8},
                       {"micro_batch_sequences", 4},
                       {"dataset", "synthetic"},
                       {"train_digest", digest},
                       {"validation_digest", digest},
                       {"validation_tokens", 1024},
                       {"divergence", {{"loss_above", 20.0}}},
                       {"precision", "fp32"},
                       {"device", "cpu"},
                       {"threads", 1},
                       {"seed", 3}};
  return {{"schema", "normbench-run-1"},
          {"run_id", "0123456789abcdef"},
          {"name", "run.a"},
          {"config", config},
          {"data",
           {{"train_digest", digest},
            {"validation_digest", digest},
            {"validation_slice_digest", digest}}},
          {"numeric_class", "cpu-01234567"},
          {"perf_class", "cpu-01234567"},
          {"fingerprint", {{"numeric", Json::object()}, {"perf", Json::object()}}},
          {"build", {{"version", "0.1.0"}, {"compiler", "12.2.0"}, {"libtorch", "2.11.0"}}},
          {"numeric_digest", digest},
          {"parameters", 12345}};
}

Json summary_example() {
  const std::string digest = "00112233445566778899aabbccddeeff";
  return {{"schema", "normbench-summary-1"},
          {"run_id", "0123456789abcdef"},
          {"status", "finished"},
          {"steps", 40},
          {"tokens", 10240},
          {"sessions", 1},
          {"seconds_train", 1.5},
          {"seconds_evaluation", 0.1},
          {"step_seconds_median", 0.03},
          {"tokens_per_second", 6826.7},
          {"peak_memory_bytes", 300000000},
          {"validation_tokens", 1024},
          {"validation_loss", 2.0},
          {"validation_loss_bits", "4000000000000000"},
          {"train_loss_last", 2.1},
          {"steps_digest", digest},
          {"weights_digest", digest},
          {"record_digest", digest}};
}

Json diverged_summary_example() {
  Json summary = summary_example();
  for (const char* key :
       {"validation_loss", "validation_loss_bits", "seconds_evaluation", "weights_digest"})
    summary.erase(key);
  summary["status"] = "diverged";
  summary["diverged_at_step"] = 40;
  summary["train_loss_last"] = nullptr;
  return summary;
}

/// What `normbench bless` writes.
Json baseline_example() {
  const testing::SyntheticOptions options;
  const JudgeInput input = testing::synthetic_input(options);
  const TemporaryFolder folder;
  testing::write_all(folder.path("runs"), input, options);
  const std::string file = folder.path("baseline.json");
  bless(input, folder.path("runs"), file,
        {.reason = "first", .commit = "abc", .date = "2026-01-01", .may_diverge = {}});
  return read_json(file);
}

Json example(const std::string& schema) {
  if (schema == "manifest") return manifest_example();
  if (schema == "summary") return summary_example();
  if (schema == "measured") return baseline_example();
  for (const auto& files : schema_files())
    if (files.schema == schema)
      return read_json(kRoot + "/" +
                       (schema == "table"       ? "suite/tables/angpt/convergence.json"
                        : schema == "published" ? "baselines/published/angpt.json"
                                                : files.pattern));
  throw std::runtime_error("no example of " + schema);
}

class Checkout : public ::testing::TestWithParam<SchemaFiles> {};

TEST_P(Checkout, EveryFileFitsItsSchema) {
  int checked = 0;
  const auto faults = checkout_faults(GetParam(), kRoot, &checked);
  EXPECT_TRUE(faults.empty()) << lines(faults);
  EXPECT_GE(checked, GetParam().required ? 1 : 0);
  std::printf("%d of %s\n", checked, GetParam().pattern.c_str());
}

TEST_P(Checkout, AFolderThatHoldsNoFileIsAFault) {
  const TemporaryFolder folder;
  // An empty checkout lacks the required ones; the optional ones are asked for once their folder is
  // there.
  EXPECT_EQ(checkout_faults(GetParam(), folder.path()).empty(), !GetParam().required);
  std::string below = std::filesystem::path(GetParam().pattern).parent_path().string();
  for (size_t star; (star = below.find('*')) != std::string::npos;) below.replace(star, 1, "some");
  make_folders(folder.path(below));
  const auto faults = checkout_faults(GetParam(), folder.path());
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find(below + ": holds no "), std::string::npos) << faults[0];
}

TEST_P(Checkout, ASpoiledFileIsFoundInItsPlace) {
  const TemporaryFolder folder;
  std::string file = GetParam().pattern;
  for (size_t star; (star = file.find('*')) != std::string::npos;) file.replace(star, 1, "some");
  make_folders(folder.path(std::filesystem::path(file).parent_path().string()));
  Json document = example(GetParam().schema);
  write_json(folder.path(file), document);
  EXPECT_EQ(lines(checkout_faults(GetParam(), folder.path())), "");
  document["surplus"] = 1;
  write_json(folder.path(file), document);
  const auto faults = checkout_faults(GetParam(), folder.path());
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find(file), std::string::npos) << faults[0];
}

INSTANTIATE_TEST_SUITE_P(All, Checkout, ::testing::ValuesIn(schema_files()), name_of);

/// In place of a value: the key is taken away.
const Json kRemove = Json(Json::value_t::discarded);

/// Each spoil: schema, JSON pointer of what is set (an absent key is added), its value, JSON
/// pointer that the message names.
TEST(Schemas, ASpoiledDocumentIsRefusedWithItsPlace) {
  const std::string setting = "/tiers/cpu/settings/gcide_1k",
                    entry = "/entries/x86-64-v3 libtorch-2.11.0";
  const std::string group = entry + "/arms/angpt/gcide_1k/1048576";
  const std::vector<std::tuple<std::string, std::string, Json, std::string>> spoils = {
      {"table", "/surplus", 1, ""},
      {"table", "/note", kRemove, ""},
      {"table", "/title", 7, "/title"},
      {"table", "/schema", "normbench-table-2", "/schema"},
      {"table", "/source/page", 3, "/source"},
      {"table", "/arms/angpt/modle", "angpt", "/arms/angpt"},
      {"table", "/arms/angpt/optimizer", kRemove, "/arms/angpt"},
      {"table",
       "/arms/two words",
       {{"label", "a"}, {"model", "angpt"}, {"optimizer", "adamw"}, {"schedule", "cosine"}},
       ""},
      {"table", "/claims/0/id", "-first", "/claims/0/id"},
      {"table", "/tiers/huge", Json::object(), "/tiers"},
      {"table", "/tiers/cpu/device", "tpu", "/tiers/cpu/device"},
      {"table", setting + "/noise/loss_sd", "small", setting + "/noise/loss_sd"},
      {"table", setting + "/token_budget", Json{1}, setting},
      {"table", setting + "/seeds", kRemove, setting},
      {"table", setting + "/seeds/0", "zero", setting + "/seeds/0"},
      {"table", setting + "/token_budgets/0", 1.5, setting + "/token_budgets/0"},
      {"table", setting + "/peak_lr/angpt/0/1", 0, setting + "/peak_lr/angpt/0/1"},
      {"table", setting + "/peak_lr/angpt/0", Json{1048576}, setting + "/peak_lr/angpt/0"},
      {"table", setting + "/sweep/grid/angpt/1M", Json{0.01}, setting + "/sweep/grid/angpt"},
      {"table", "/claims/0/rule", "sped_up", "/claims/0/rule"},
      {"table", "/measurements", {{"norms", {{"task", "norms"}}}}, "/measurements/norms"},
      {"table",
       "/tiers/cpu/measurements",
       {{"norms", {{"seeds", {-1}}}}},
       "/tiers/cpu/measurements/norms/seeds/0"},
      {"table", "/claims/0/rule", "ordering", "/claims/0"},
      {"table", "/claims/0/rule", "lr_tolerance", "/claims/0"},
      {"table", "/claims/0/rule", "crossing", "/claims/0"},
      {"table", "/claims/0/rule", "below_unigram", "/claims/0"},
      {"table", "/claims/0/tolerance", 0.1, "/claims/0"},
      {"table", "/claims/0/of", "both", "/claims/0/of"},
      {"table", "/claims/0/published", kRemove, "/claims/0"},
      {"table", "/claims/0/margin_nats", 0.02, "/claims/0"},
      {"table", "/claims/0/tiers", Json{"laptop"}, "/claims/0/tiers/0"},
      {"table", "/deviations/0/why", kRemove, "/deviations/0"},
      {"table", "/not_tested/0/reason", "", "/not_tested/0"},
      {"sizes", "/surplus", 1, ""},
      {"sizes", "/sizes", kRemove, ""},
      {"sizes", "/sizes/toy/layers", 4, "/sizes/toy"},
      {"sizes", "/sizes/toy/width", kRemove, "/sizes/toy"},
      {"sizes", "/sizes/toy/width", 0, "/sizes/toy/width"},
      {"sizes", "/sizes/toy/width", 2'000'000, "/sizes/toy/width"},
      {"sizes", "/sizes/toy/head_width", 33, "/sizes/toy/head_width"},
      {"sizes", "/sizes/toy/context", "128", "/sizes/toy/context"},
      {"sizes", "/sizes/micro", kRemove, "/sizes"},
      {"data", "/surplus", 1, ""},
      {"data", "/datasets/synthetic/licence", "none", "/datasets/synthetic"},
      {"data", "/datasets/synthetic/corpus", "wikipedia", "/datasets/synthetic/corpus"},
      {"data", "/datasets/gcide_1k/tokenizer/vocab", 1024, "/datasets/gcide_1k/tokenizer"},
      {"data", "/datasets/gcide_1k/options/sha256", "0123", "/datasets/gcide_1k/options/sha256"},
      {"data", "/datasets/gcide_1k/options/sha256", kRemove, "/datasets/gcide_1k/options"},
      {"data", "/datasets/gcide_1k/validation_share", 2, "/datasets/gcide_1k/validation_share"},
      {"data", "/datasets/gcide_1k/expected/train_tokens", kRemove, "/datasets/gcide_1k/expected"},
      {"published", "/surplus", 1, "/surplus"},
      {"published", "/paper", kRemove, ""},
      {"published", "/step_time/gpt_plus/how", "guessed", ""},
      {"published", "/speed_up/angpt_vs_gpt_plus/value", "1.4",
       "/speed_up/angpt_vs_gpt_plus/value"},
      {"published", "/speed_up/angpt_vs_gpt_plus/value", kRemove, "/speed_up/angpt_vs_gpt_plus"},
      {"published", "/speed_up/angpt_vs_gpt_plus/where", kRemove, "/speed_up/angpt_vs_gpt_plus"},
      {"published", "/speed_up/angpt_vs_gpt_plus/how", kRemove, "/speed_up/angpt_vs_gpt_plus"},
      {"published", "/speed_up/angpt_vs_gpt_plus/source", "x", "/speed_up/angpt_vs_gpt_plus"},
      {"published", "/speed_up/angpt_vs_gpt_plus/unit", "times",
       "/speed_up/angpt_vs_gpt_plus/unit"},
      {"measured", "/surplus", 1, ""},
      {"measured", "/tier", "huge", "/tier"},
      {"measured", "/entries", kRemove, ""},
      {"measured", entry + "/created/reason", "", entry + "/created/reason"},
      {"measured", entry + "/fingerprint", kRemove, entry},
      {"measured", entry + "/verdicts/speed_up/gcide_1k", "SURE",
       entry + "/verdicts/speed_up/gcide_1k"},
      {"measured", group + "/sd", 0.1, group},
      {"measured", group + "/values/0/bits", "40", group + "/values/0/bits"},
      {"measured", group + "/values/0/run_id", kRemove, group + "/values/0"},
      {"manifest", "/surplus", 1, ""},
      {"manifest", "/config", kRemove, ""},
      {"manifest", "/run_id", "0123", "/run_id"},
      {"manifest", "/config/sede", 1, "/config"},
      {"manifest", "/config/seed", kRemove, "/config"},
      {"manifest", "/config/threads", "1", "/config/threads"},
      {"manifest", "/config/size/depth", 2, "/config/size"},
      {"manifest", "/data/train_digest", 5, "/data/train_digest"},
      {"summary", "/surplus", 1, ""},
      {"summary", "/status", "stopped", "/status"},
      {"summary", "/steps", 1.5, "/steps"},
      {"summary", "/validation_loss", kRemove, ""},
      {"summary", "/validation_loss_bits", "2.0", "/validation_loss_bits"},
      {"summary", "/diverged_at_step", 3, ""},
      {"summary", "/record_digest", kRemove, ""},
  };
  std::map<std::string, Json> examples;
  for (const auto& files : schema_files()) {
    examples[files.schema] = example(files.schema);
    const auto faults = schema_faults(files.schema, examples[files.schema], files.schema);
    ASSERT_TRUE(faults.empty()) << lines(faults);
  }
  for (const auto& [schema, at, value, place] : spoils) {
    Json document = examples.at(schema);
    const Json::json_pointer pointer(at);
    if (value.is_discarded()) {
      ASSERT_EQ(document.at(pointer.parent_pointer()).erase(pointer.back()), 1u)
          << schema << " " << at;
    } else {
      ASSERT_TRUE(document.contains(pointer.parent_pointer())) << schema << " " << at;
      document[pointer] = value;
    }
    const auto faults = schema_faults(schema, document, "spoiled.json");
    ASSERT_FALSE(faults.empty()) << schema << ": accepted a spoiled " << at;
    const std::string start = "spoiled.json, at " + place;
    const bool named = std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
      return fault.starts_with(start);
    });
    EXPECT_TRUE(named) << schema << " " << at << "\n" << lines(faults);
  }
}

TEST(Schemas, ADivergedRunHasNoValidationLoss) {
  Json summary = diverged_summary_example();
  EXPECT_EQ(lines(schema_faults("summary", summary, "summary.json")), "");
  summary["validation_loss"] = 2.0;
  EXPECT_FALSE(schema_faults("summary", summary, "summary.json").empty());
  summary = diverged_summary_example();
  summary.erase("diverged_at_step");
  EXPECT_FALSE(schema_faults("summary", summary, "summary.json").empty());
}

/// Calls f(pointer, object) for every object of a schema that is itself a schema with properties.
void for_each_schema(const Json& json, const std::string& pointer,
                     const std::function<void(const std::string&, const Json&)>& f) {
  if (json.is_object() && json.contains("properties") && !pointer.ends_with("/properties"))
    f(pointer, json);
  if (json.is_structured())
    for (const auto& item : json.items())
      for_each_schema(item.value(), pointer + "/" + item.key(), f);
}

TEST(Schemas, EveryPropertyIsDescribedAndEveryObjectIsClosed) {
  for (const auto& files : schema_files()) {
    const Json schema = read_json(kRoot + "/suite/schemas/" + files.schema + ".schema.json");
    EXPECT_EQ(schema.at("$schema"), "http://json-schema.org/draft-07/schema#");
    int properties = 0;
    for_each_schema(schema, "", [&](const std::string& pointer, const Json& object) {
      if (pointer.ends_with("/if") || pointer.ends_with("/then"))
        return;  // a condition on properties described elsewhere
      EXPECT_TRUE(object.contains("additionalProperties")) << files.schema << " " << pointer;
      for (const auto& property : object["properties"].items()) {
        ++properties;
        const std::string text = property.value().value("description", "");
        EXPECT_GE(text.size(), 10u)
            << files.schema << " " << pointer << "/properties/" << property.key();
      }
    });
    EXPECT_GE(properties, 5) << files.schema;
  }
}

TEST(Schemas, EveryClaimFindsItsPublishedNumber) {
  for (const auto& paper : std::filesystem::directory_iterator(kRoot + "/suite/tables")) {
    if (!paper.is_directory()) continue;
    const std::string published =
        kRoot + "/baselines/published/" + paper.path().filename().string() + ".json";
    for (const auto& file : std::filesystem::directory_iterator(paper.path())) {
      const Json table = read_json(file.path().string());
      JudgeInput input;
      input.paper = paper.path().filename().string();
      input.table_file = file.path().string();
      input.claims = table.at("claims");
      input.published = std::filesystem::exists(published) ? read_json(published) : Json();
      for (const auto& arm : table.at("arms").items())
        input.arms.push_back({arm.key(), {}, {}, {}});
      const Json measurements = table.value("measurements", Json::object());
      for (const auto& measurement : measurements.items())
        input.measurements.push_back({measurement.key(), {}, {}});
      for (const char* tier : {"smoke", "cpu", "gpu", "paper"}) {
        input.tier = tier;
        EXPECT_NO_THROW(read_claims(input)) << file.path();
      }
    }
  }
}

}  // namespace
}  // namespace normbench
