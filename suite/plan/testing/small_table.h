// A good table of two arms with its sizes and registry, which the tests of this folder spoil in one
// place.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suite/base/testing/temporary_folder.h"
#include "suite/plan/ctest_list.h"
#include "suite/plan/estimate.h"
#include "suite/plan/expand.h"

namespace normbench::testing::small_table {

inline Json sizes_file() {
  const Json micro = {
      {"num_layers", 2}, {"width", 32}, {"num_heads", 2}, {"mlp_width", 64}, {"context", 32}};
  return {{"schema", "normbench-sizes-1"}, {"sizes", {{"micro", micro}}}};
}

inline Json registry_file() {
  return {
      {"schema", "normbench-registry-1"},
      {"devices", {"cpu"}},
      {"models",
       {{"gpt",
         {{"source", ""},
          {"options", {{"qk_norm", true}, {"init", "scaled"}, {"scale", 1.0}, {"late", 1.0}}},
          {"added", {"late"}},
          {"limits",
           {{"init", {{"choices", {"scaled", "literal"}}}},
            {"scale", {{"above", 0}, {"most", 8}}}}}}},
        {"mixed",
         {{"source", ""}, {"options", {{"pattern", "AB"}, {"chunk", 64}, {"num_kv_heads", 0}}}}},
        {"turned", {{"source", ""}, {"options", {{"rope_fraction", 1.0}}}}},
        {"experts",
         {{"source", ""}, {"options", {{"pattern", "AB"}, {"num_experts", 4}, {"top_k", 2}}}}}}},
      {"optimizers",
       {{"adamw", {{"source", ""}, {"options", {{"beta1", 0.9}, {"warm_steps", 10}}}}}}},
      {"schedules",
       {{"cosine", {{"source", ""}, {"options", {{"final_fraction", 0.1}}}}},
        {"wsd",
         {{"source", ""},
          {"options", {{"warmup_steps", 0}, {"warmup_fraction", 0.0}, {"decay_fraction", 0.2}}},
          {"added", {"warmup_fraction"}}}}}},
      {"probes", {"residual_norm", "row_norm"}},
      {"tasks",
       {{"spectrum",
         {{"source", ""},
          {"options", {{"width", 64}, {"scale", 1.0}}},
          {"canary_options", {{"width", 4}, {"scale", 1.0}}}}}}}};
}

/// Two arms on one setting; a step is 4 x 32 = 128 tokens.
inline Json table_file() {
  const Json arm = {
      {"label", "A"}, {"model", "gpt"}, {"optimizer", "adamw"}, {"schedule", "cosine"}};
  const Json setting = {{"dataset", "text"},
                        {"size", "micro"},
                        {"batch_sequences", 4},
                        {"micro_batch_sequences", 2},
                        {"validation_tokens", 64},
                        {"token_budgets", {1280, 2560}},
                        {"seeds", {0, 1}},
                        {"clip_norm", 1.0},
                        {"divergence_loss_above", 20.0},
                        {"peak_lr",
                         {{"a", Json::array({{1280, 0.04}, {5120, 0.01}})},
                          {"b", Json::array({{1280, 0.02}, {2560, 0.02}})}}},
                        {"sweep", {{"seeds", {100}}, {"grid", {{"a", {{"1280", {0.02, 0.04}}}}}}}}};
  Json b = arm;
  b["model_options"] = {{"qk_norm", false}};
  return {
      {"schema", "normbench-table-1"},
      {"title", "t"},
      {"note", "n"},
      {"source", {{"paper", "p"}, {"where", "w"}, {"values", "v"}}},
      {"arms", {{"a", arm}, {"b", b}}},
      {"tiers",
       {{"smoke", {{"device", "cpu"}, {"precision", "fp32"}, {"settings", {{"one", setting}}}}}}},
      {"claims", Json::array({{{"id", "better"}, {"challenger", "b"}, {"reference", "a"}}})},
      {"deviations", Json::array()},
      {"not_tested", Json::array()}};
}

/// The table with a measurement in its smoke tier.
inline Json measuring_table() {
  Json table = table_file();
  table["measurements"] = {
      {"largest", {{"label", "L"}, {"task", "spectrum"}, {"options", {{"scale", 2}}}}}};
  table["tiers"]["smoke"]["measurements"] = {
      {"largest", {{"seeds", {0, 1}}, {"options", {{"width", 8}}}}}};
  return table;
}

inline const std::string kSetting = "/tiers/smoke/settings/one";

inline std::optional<DatasetIdentity> prepared(const std::string&) {
  return DatasetIdentity{.vocabulary = 512,
                         .train_digest = "t",
                         .validation_digest = "v",
                         .train_tokens = 1000,
                         .validation_tokens = 100};
}
inline std::optional<DatasetIdentity> unknown(const std::string&) { return std::nullopt; }

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    write_json(folder_ + "/sizes.json", sizes_file());
    write_json(registry_, registry_file());
  }

  Table read(const Json& table, const std::string& name = "first") const {
    const std::string file = folder_ + "/paper/" + name + ".json";
    write_json(file, table);
    return read_table(file, read_sizes(folder_));
  }
  Table read_with(const std::string& pointer, const Json& value) const {
    Json table = table_file();
    table[Json::json_pointer(pointer)] = value;
    return read(table);
  }
  /// Spoils the good table in one place and expects a message that holds `text`.
  void expect_refusal(const std::string& pointer, const Json& value,
                      const std::string& text) const {
    try {
      read_with(pointer, value);
      ADD_FAILURE() << "accepted " << pointer << " = " << value;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << pointer << ": " << e.what();
    }
  }
  std::vector<PlannedRun> runs(const Table& table, const DatasetLookup& lookup = prepared) const {
    return expand(table, *table.tier("smoke"), read_sizes(folder_), Registry(registry_), lookup);
  }
  Json resolve(const std::string& name, const Json& given) const {
    return Registry(registry_).resolve("models", name, given, "table.json, at /arms/a");
  }
  std::string script(const std::vector<Table>& tables) const {
    std::vector<PlannedTier> tiers;
    for (const auto& table : tables) tiers.push_back({&table, table.tier("smoke"), runs(table)});
    return ctest_script(tiers, Estimate(folder_ + "/runs"), "program", "root");
  }

  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path("tables"),
                    registry_ = temporary_.path("registry.json");
};

}  // namespace normbench::testing::small_table
