// Experiments that train nothing: one task = one function from options, a seed and a device to rows
// and values. The list is registry.cpp; who runs a task and writes its record stands above this
// layer.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "suite/base/options.h"

namespace normbench {

/// What a task found. Columns and values that are times end in "_seconds".
class Rows {
 public:
  /// One line of the record: an object of finite numbers and strings. The column "row" counts from
  /// 1 and is added here. Throws UserError on a number that is not finite, Interrupted on SIGINT or
  /// SIGTERM: tasks add rows as they go.
  void add(Json row);
  /// A number about all rows; each name once. Throws UserError when it is not finite.
  void value(const std::string& name, double v);

  const std::vector<Json>& rows() const { return rows_; }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::vector<Json> rows_;
  std::map<std::string, double> values_;
};

/// One line of the registry.
struct MeasureEntry {
  std::string name;
  std::string what;      // one line: what it measures, and its source
  Json default_options;  // the sizes of the source
  Json canary_options;   // the same path in a fraction of a second
  Json limits;           // {option: limit}, suite/base/limits.h
  /// Computes on `device`. Throws UserError when the task is one for the CPU and it is another.
  void (*run)(const JsonObject& options, uint64_t seed, torch::Device device, Rows& rows);
};

/// Sorted by name. Explicit: nothing registers itself.
const std::vector<MeasureEntry>& measure_registry();
/// Throws UserError with the nearest known name.
const MeasureEntry& find_measure(const std::string& name);

/// A MeasureEntry whose options are the aggregate Options and whose task computes on any device.
template <class Options,
          void (*kRun)(const Options& options, uint64_t seed, torch::Device device, Rows& rows)>
MeasureEntry device_measure_entry(const std::string& name, const std::string& what,
                                  const Options& canary) {
  return {name,
          what,
          options_json(Options{}),
          options_json(canary),
          option_limits<Options>(),
          [](const JsonObject& options, uint64_t seed, torch::Device device, Rows& rows) {
            kRun(read_options<Options>(options), seed, device, rows);
          }};
}

/// Throws UserError unless it is the CPU: a record must not name a device that was not used.
void require_cpu(torch::Device device);

template <class Options, void (*kRun)(const Options& options, uint64_t seed, Rows& rows)>
void run_on_cpu(const Options& options, uint64_t seed, torch::Device device, Rows& rows) {
  require_cpu(device);
  kRun(options, seed, rows);
}

/// The same of a task that computes on the CPU.
template <class Options, void (*kRun)(const Options& options, uint64_t seed, Rows& rows)>
MeasureEntry measure_entry(const std::string& name, const std::string& what,
                           const Options& canary) {
  return device_measure_entry<Options, run_on_cpu<Options, kRun>>(name, what, canary);
}

}  // namespace normbench
