// A tier of a table becomes runs: each with its complete configuration and the id that is the hash
// of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "suite/base/json.h"
#include "suite/base/record_digest.h"
#include "suite/plan/registry.h"
#include "suite/plan/table.h"

namespace normbench {

/// Who a prepared data set is: what the run id needs of it, and how much text there is.
struct DatasetIdentity {
  int64_t vocabulary = 0;
  std::string train_digest, validation_digest;
  int64_t train_tokens = 0, validation_tokens = 0;
};
/// Empty when the data set is neither prepared nor has a committed digest (the user's own text
/// before `data prepare`).
using DatasetLookup = std::function<std::optional<DatasetIdentity>(const std::string& dataset)>;

struct PlannedRun {
  std::string name;    // run.<paper>.<table>.<tier>.<setting>.<arm>.<budget>.s<seed>
  std::string run_id;  // 16 hexadecimal digits; empty when the data set is unknown
  std::string paper, table, tier, setting, arm, dataset, device;
  std::string task;  // not empty: a measurement, `arm` is its name, and there is no setting
  int64_t token_budget = 0, seed = 0;
  double peak_lr = 0;
  bool sweep = false;
  Json config;
  Json canary;  // canary_config() of it; of a task the configuration with its canary's options
};

/// The runs of one tier: verdicts, learning-rate trials, measurements.
std::vector<PlannedRun> expand(const Table& table, const Tier& tier, const Json& sizes,
                               const Registry& registry, const DatasetLookup& lookup);

/// The part of a configuration that says which arithmetic it exercises: model, optimizer, schedule
/// and clipping with all options, precision, device and threads, on the canary's own size, text and
/// budget. Its hash names the canary. What an option counts is fitted to that size: a warm-up of
/// thousands of steps, eight heads of keys, a pattern of layers, of which every kind is there.
Json canary_config(const Json& config, const Json& micro_size);

}  // namespace normbench
