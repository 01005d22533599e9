#include "suite/measure/measure.h"

#include "suite/base/find_entry.h"
#include "suite/base/interrupt.h"
#include "suite/measure/series.h"

namespace normbench {

void Rows::add(Json row) {
  stop_if_interrupted();
  NORMBENCH_CHECK(row.is_object() && !row.contains("row"), row.dump());
  for (const auto& [column, entry] : row.items()) {
    NORMBENCH_CHECK(entry.is_string() || entry.is_number(), column + " = " + entry.dump());
    if (entry.is_number()) require_finite(column, entry.get<double>());
  }
  row["row"] = rows_.size() + 1;
  rows_.push_back(std::move(row));
}

void Rows::value(const std::string& name, double v) {
  require_finite(name, v);
  NORMBENCH_CHECK(values_.emplace(name, v).second, "a second value called " + name);
}

void require_cpu(torch::Device device) {
  if (!device.is_cpu())
    throw UserError({.what = "this measurement computes on the CPU",
                     .where = "device",
                     .found = device.str(),
                     .expected = "cpu"});
}

const MeasureEntry& find_measure(const std::string& name) {
  return find_entry(measure_registry(), name, "measurement task", "task");
}

}  // namespace normbench
