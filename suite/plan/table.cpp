#include "suite/plan/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "suite/base/files.h"
#include "suite/base/limits.h"
#include "suite/base/names.h"
#include "suite/plan/table_checks.h"

namespace normbench {
namespace {

/// The options of a model, a task, ...: an object, whose keys the registry knows.
Json read_options_of(const JsonObject& o, const std::string& key) {
  const auto options = o.optional<Json>(key, Json::object());
  if (!options.is_object()) o.fail(key, "wrong type", options.dump(), "an object");
  return options;
}

Arm read_arm(const std::string& name, const JsonObject& o) {
  check_name(o, "", name);
  Arm arm{.name = name,
          .label = o.required<std::string>("label"),
          .note = o.optional<std::string>("note", ""),
          .warning = o.optional<std::string>("warning", ""),
          .model = o.required<std::string>("model"),
          .optimizer = o.required<std::string>("optimizer"),
          .schedule = o.required<std::string>("schedule"),
          .model_options = read_options_of(o, "model_options"),
          .optimizer_options = read_options_of(o, "optimizer_options"),
          .schedule_options = read_options_of(o, "schedule_options"),
          .probes = o.optional<std::vector<std::string>>("probes", {})};
  o.finish();
  return arm;
}

Measurement read_measurement(const std::string& name, const JsonObject& o) {
  check_name(o, "", name);
  Measurement measurement{.name = name,
                          .label = o.required<std::string>("label"),
                          .note = o.optional<std::string>("note", ""),
                          .task = o.required<std::string>("task"),
                          .options = read_options_of(o, "options")};
  o.finish();
  return measurement;
}

int64_t budget_of_key(const JsonObject& o, const std::string& key) {
  const auto budget = whole_number(key);  // "08192" would be a second "8192", and one of them lost
  if (!budget || *budget <= 0)
    o.fail(key, "not a token budget", "\"" + key + "\"",
           "a number of tokens in digits alone, the first one not 0");
  return *budget;
}

void read_peak_lr(const JsonObject& setting, Setting& s) {
  if (!setting.has("peak_lr")) {
    setting.ignore("peak_lr");
    return;
  }
  const JsonObject rates = setting.object("peak_lr");
  for (const auto& arm : rates.keys()) {
    s.peak_lr[arm];  // also of an empty list, which check_setting() then refuses
    for (const auto& pair : rates.required<std::vector<Json>>(arm)) {
      const bool is_pair =
          pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number();
      constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
      if (!is_pair || (pair[0].is_number_unsigned() && pair[0].get<uint64_t>() > kLargest))
        rates.fail(arm, "wrong type", pair.dump(), "[token budget, peak learning rate]");
      s.peak_lr[arm].emplace_back(pair[0].get<int64_t>(), pair[1].get<double>());
    }
    std::sort(s.peak_lr[arm].begin(), s.peak_lr[arm].end());
  }
}

void read_sweep(const JsonObject& setting, Setting& s) {
  if (!setting.has("sweep")) {
    setting.ignore("sweep");
    return;
  }
  const JsonObject sweep = setting.object("sweep");
  s.sweep.seeds = sweep.required<std::vector<int64_t>>("seeds");
  sweep.for_each_object("grid", [&](const std::string& arm, const JsonObject& budgets) {
    if (budgets.keys().empty())
      budgets.fail("", "an arm is swept nowhere", "{}", "{\"<tokens>\": [rates]}, or no such arm");
    for (const auto& key : budgets.keys())
      s.sweep.grid[arm][budget_of_key(budgets, key)] = budgets.required<std::vector<double>>(key);
  });
  sweep.finish();
}

Setting read_setting(const std::string& name, const JsonObject& o, const Table& table,
                     const Json& sizes) {
  Setting s;
  s.name = name;
  s.dataset = o.required<std::string>("dataset");
  s.size = o.required<std::string>("size");
  s.batch_sequences = o.required<int64_t>("batch_sequences");
  s.micro_batch_sequences = o.optional<int64_t>("micro_batch_sequences", s.batch_sequences);
  s.validation_tokens = o.required<int64_t>("validation_tokens");
  if (!o.has("token_budgets") && o.has("sweep")) {
    for (const char* key : {"seeds", "peak_lr"})
      if (o.has(key))
        o.fail(key, "a setting without token_budgets trains only its sweep", "",
               "no " + std::string(key));
    o.ignore("token_budgets");
    o.ignore("seeds");
  } else {
    s.token_budgets = o.required<std::vector<int64_t>>("token_budgets");
    s.seeds = o.required<std::vector<int64_t>>("seeds");
  }
  s.clip_norm = o.required<double>("clip_norm");
  s.divergence_loss_above = o.required<double>("divergence_loss_above");
  if (o.has("arm_batch_sequences")) {
    const JsonObject batches = o.object("arm_batch_sequences");
    for (const auto& arm : batches.keys())
      s.arm_batch_sequences[arm] = batches.required<int64_t>(arm);
  }
  o.ignore("arm_batch_sequences");
  read_peak_lr(o, s);
  read_sweep(o, s);
  s.noise = o.optional<Json>("noise", Json());
  o.finish();
  check_setting(o, s, table, sizes);
  return s;
}

Tier read_tier(const std::string& name, const JsonObject& o, const Table& table,
               const Json& sizes) {
  require_known(o, "", "no such tier", name, kTierNames);
  Tier tier;
  tier.name = name;
  tier.note = o.optional<std::string>("note", "");
  tier.device = o.required<std::string>("device");
  tier.precision = o.required<std::string>("precision");
  tier.threads = o.optional<int64_t>("threads", 1);
  tier.noise = o.optional<Json>("noise", Json());
  tier.peak_lr_source = o.optional<std::string>("peak_lr_source", "");
  tier.untuned_arms = o.optional<std::vector<std::string>>("untuned_arms", {});
  o.for_each_object("settings", [&](const std::string& setting, const JsonObject& s) {
    tier.settings.push_back(read_setting(setting, s, table, sizes));
  });
  if (o.has("measurements"))
    o.for_each_object("measurements", [&](const std::string& measurement, const JsonObject& m) {
      table.measurement(measurement);
      tier.measurements.push_back(
          {measurement, m.required<std::vector<int64_t>>("seeds"), read_options_of(m, "options")});
      check_seeds(m, "seeds", tier.measurements.back().seeds);
      m.finish();
    });
  o.ignore("measurements");
  o.finish();
  check_tier(o, tier, table);
  return tier;
}

/// More than any model has of anything, and little enough that no product of three of them, which
/// is what parameters are counted by, overflows.
constexpr int64_t kMostOfASize = 1'000'000;

int64_t read_count(const JsonObject& size, const char* key) {
  const auto count = size.required<int64_t>(key);
  if (count < 1 || count > kMostOfASize)
    size.fail(key, "not a size that a model can have", std::to_string(count),
              "1 to " + std::to_string(kMostOfASize));
  return count;
}

void check_size(const JsonObject& size) {
  size.ignore("note");
  for (const char* key : {"num_layers", "mlp_width", "context"}) read_count(size, key);
  const int64_t width = read_count(size, "width"), heads = read_count(size, "num_heads");
  const bool given = size.optional<int64_t>("head_width", 0) != 0;
  if (!given && width % heads != 0)
    size.fail("num_heads", "the width is not divisible by the heads",
              std::to_string(width) + " and " + std::to_string(heads));
  const int64_t head_width = given ? read_count(size, "head_width") : width / heads;
  if (head_width % 2 != 0)
    size.fail("head_width", "positions turn the entries of a head in pairs (RoPE)",
              std::to_string(head_width), "an even number");
  size.finish();
}

/// Files of editors and systems, and of a write that is under way (files.h): nobody's table.
bool comes_and_goes(const std::string& name) {
  return name.starts_with('.') || name.starts_with('#') || name.ends_with('~') ||
         name.find(".tmp.") != std::string::npos;
}

/// What is passed over in silence is a table that nobody runs.
[[noreturn]] void refuse_stray(const std::filesystem::path& path) {
  throw UserError({.what = "what lies among the tables is no table",
                   .where = path.string(),
                   .expected = "<paper>/<table>.json, sizes.json, data.json or README.md",
                   .todo = "rename it, or move it out of suite/tables"});
}

/// Names of runs, tests and labels are made of the parts, with dots between them.
void check_part_of_name(const std::filesystem::path& path, const std::string& part) {
  if (is_plain_name(part) && part.find('.') == std::string::npos) return;
  throw UserError(
      {.what = "not a name for a paper or a table",
       .where = path.string(),
       .found = "\"" + part + "\"",
       .expected = "at most 100 letters, digits, '_' and '-', the first one a letter or digit",
       .todo = "rename it"});
}

}  // namespace

const Arm& Table::arm(const std::string& wanted) const {
  for (const auto& a : arms)
    if (a.name == wanted) return a;
  throw UserError({.what = "no such arm", .where = file, .found = "\"" + wanted + "\""});
}

const Measurement& Table::measurement(const std::string& wanted) const {
  for (const auto& m : measurements)
    if (m.name == wanted) return m;
  throw UserError({.what = "no such measurement", .where = file, .found = "\"" + wanted + "\""});
}

const Tier* Table::tier(const std::string& wanted) const {
  for (const auto& t : tiers)
    if (t.name == wanted) return &t;
  return nullptr;
}

Table read_table(const std::string& file, const Json& sizes) {
  const Json json = read_json(file);
  const JsonObject o(json, file);
  if (o.required<std::string>("schema") != "normbench-table-1")
    o.fail("schema", "unknown schema", json["schema"].dump(), "\"normbench-table-1\"");
  Table table;
  const std::filesystem::path path(file);
  table.file = file;
  table.name = path.stem().string();
  table.paper = path.parent_path().filename().string();
  table.title = o.required<std::string>("title");
  table.note = o.required<std::string>("note");
  table.source = o.required<Json>("source");
  table.claims = o.required<Json>("claims");
  table.deviations = o.required<Json>("deviations");
  table.not_tested = o.required<Json>("not_tested");
  o.for_each_object("arms", [&](const std::string& name, const JsonObject& a) {
    table.arms.push_back(read_arm(name, a));
  });
  table.yardstick = o.optional<std::string>("yardstick", "");
  if (o.has("yardstick")) {
    std::vector<std::string> names;
    for (const auto& arm : table.arms) names.push_back(arm.name);
    require_known(o, "yardstick", "no such arm", table.yardstick, names);
  }
  if (o.has("measurements"))
    o.for_each_object("measurements", [&](const std::string& name, const JsonObject& m) {
      table.measurements.push_back(read_measurement(name, m));
    });
  o.ignore("measurements");
  o.for_each_object("tiers", [&](const std::string& name, const JsonObject& t) {
    table.tiers.push_back(read_tier(name, t, table, sizes));
  });
  check_claims(o, table);
  check_texts(o);
  o.finish();
  return table;
}

std::vector<TableFile> table_files(const std::string& folder) {
  std::vector<TableFile> files;
  for (const auto& paper : std::filesystem::directory_iterator(folder)) {
    const std::string name = paper.path().filename().string();
    if (comes_and_goes(name)) continue;
    if (!paper.is_directory()) {
      if (!is_one_of(name, {"sizes.json", "data.json", "README.md"})) refuse_stray(paper.path());
      continue;
    }
    check_part_of_name(paper.path(), name);
    for (const auto& entry : std::filesystem::directory_iterator(paper.path())) {
      const std::string file = entry.path().filename().string();
      if (comes_and_goes(file) || file == "README.md") continue;
      if (entry.is_directory() || entry.path().extension() != ".json") refuse_stray(entry.path());
      const std::string table = entry.path().stem().string();
      check_part_of_name(entry.path(), table);
      files.push_back({name, name + "." + table, entry.path().string()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const TableFile& a, const TableFile& b) { return a.path < b.path; });
  return files;
}

std::vector<Table> read_tables(const std::string& folder, const std::string& only) {
  const Json sizes = read_sizes(folder);
  std::vector<std::string> names;
  std::vector<Table> tables;
  for (const auto& file : table_files(folder)) {
    names.push_back(file.name);
    if (only.empty() || only == file.paper || only == file.name)
      tables.push_back(read_table(file.path, sizes));
  }
  if (tables.empty()) {
    throw UserError({.what = "no table matches",
                     .where = folder,
                     .found = "\"" + only + "\"",
                     .expected = "a paper (angpt) or a table (angpt.convergence)",
                     .todo = did_you_mean(only, names, "normbench plan --list shows all")});
  }
  return tables;
}

Json read_sizes(const std::string& folder) {
  const std::string file = folder + "/sizes.json";
  const Json json = read_json(file);
  const JsonObject o(json, file);
  if (o.required<std::string>("schema") != "normbench-sizes-1") o.fail("schema", "unknown schema");
  o.ignore("note");
  o.for_each_object("sizes", [](const std::string&, const JsonObject& size) { check_size(size); });
  o.object("sizes").raw("micro");  // that of the canaries (expand.h)
  o.finish();
  Json sizes = json["sizes"];
  for (auto& size : sizes) size.erase("note");
  return sizes;
}

double peak_lr_at(const Setting& setting, const std::string& arm, int64_t budget,
                  const std::string& file) {
  const auto found = setting.peak_lr.find(arm);
  NORMBENCH_CHECK(found != setting.peak_lr.end() && !found->second.empty(), arm);
  const auto& rates = found->second;
  if (rates.size() == 1) return rates.front().second;  // tuned at one budget, used at all
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i].first == budget) return rates[i].second;
    if (i + 1 < rates.size() && rates[i].first < budget && budget < rates[i + 1].first) {
      const double share =
          std::log(static_cast<double>(budget) / static_cast<double>(rates[i].first)) /
          std::log(static_cast<double>(rates[i + 1].first) / static_cast<double>(rates[i].first));
      const double rate =
          std::exp(std::log(rates[i].second) * (1 - share) + std::log(rates[i + 1].second) * share);
      char
          text[32];  // three significant digits, as tuned rates have: a rate that a person can type
      std::snprintf(text, sizeof text, "%.3g", rate);
      return std::strtod(text, nullptr);
    }
  }
  throw UserError({.what = "an arm has no tuned learning rate at this budget",
                   .where = file + ", setting " + setting.name + ", arm " + arm,
                   .found = std::to_string(budget) + " tokens",
                   .expected = "a budget inside the tuned range",
                   .todo = "add it to peak_lr, or run the sweep and `normbench tune`"});
}

}  // namespace normbench
