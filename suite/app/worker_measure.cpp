#include "suite/app/worker_measure.h"

#include <chrono>
#include <iostream>

#include "suite/app/exit_codes.h"
#include "suite/base/hash.h"
#include "suite/base/log.h"
#include "suite/base/record_digest.h"
#include "suite/measure/measure.h"
#include "suite/train/canary.h"
#include "suite/train/device.h"
#include "suite/train/fingerprint.h"
#include "suite/train/run_folder.h"

namespace normbench {
namespace {

struct MeasureConfig {
  std::string task, device;
  Json options;
  int64_t threads = 1, seed = 0;
};

MeasureConfig read(const Json& json, const std::string& file) {
  const JsonObject o(json, file);
  MeasureConfig c{.task = o.required<std::string>("task"),
                  .device = o.required<std::string>("device"),
                  .options = o.required<Json>("options"),
                  .threads = o.required<int64_t>("threads"),
                  .seed = o.required<int64_t>("seed")};
  o.finish();
  return c;
}

Rows measured(const MeasureConfig& c) {
  fix_arithmetic(c.threads);
  Rows rows;
  find_measure(c.task).run(JsonObject(c.options, "configuration", "/options"),
                           static_cast<uint64_t>(c.seed), torch_device(c.device), rows);
  return rows;
}

/// Hash of everything in a row but its times, which no machine repeats.
std::string digest_of_rows(const std::vector<std::string>& lines) {
  StreamHash hash;
  for (const auto& line : lines) {
    Json row = Json::parse(line);
    for (auto item = row.begin(); item != row.end();)
      item = item.key().ends_with("_seconds") ? row.erase(item) : std::next(item);
    hash.update(canonical(row));
    hash.update("\n");
  }
  return hash.hex();
}

Json summary_of_rows(const std::vector<std::string>& lines) {
  return Json::object({{"steps_digest", digest_of_rows(lines)}});
}

void print(const std::string& name, const Json& summary, bool reused) {
  std::cout << name << " (" << summary.at("run_id").get<std::string>()
            << "): " << summary.at("rows") << " rows";
  for (const auto& [key, value] : summary.at("values").items())
    std::cout << ", " << key << " " << value.get<double>();
  if (reused)
    std::cout << ", finished before\n";
  else
    std::cout << ", " << duration_text(summary.at("seconds_measure").get<double>()) << "\n";
}

}  // namespace

CanaryResult measurement_canary(const Json& config) {
  CanaryResult canary;
  std::vector<std::string> lines;
  const Rows measurement = measured(read(config, "configuration of a canary"));
  for (const auto& row : measurement.rows()) {
    lines.push_back(canonical(row));
    for (const auto& [column, entry] : row.items())
      if (entry.is_number() && !column.ends_with("_seconds"))
        canary.numbers.push_back(entry.get<double>());
  }
  canary.digest = digest_of_rows(lines);
  return canary;
}

int worker_measure(const WorkerRun& request) {
  const Json config = parse_json(request.config, "--config");
  const MeasureConfig c = read(config, "--config");
  if (is_skipped(c.device, request.name)) return kExitSkipped;
  const auto gpu = wait_for_gpu(c.device, request.cache_folder);
  fix_arithmetic(c.threads);
  const Fingerprint machine = fingerprint(c.device, c.threads);
  const CanaryResult canary = cached_canary(parse_json(request.canary, "--canary"),
                                            measurement_canary, request.cache_folder + "/canary",
                                            xxh3_file("/proc/self/exe"), machine.numeric_class);

  const std::string run_id = run_id_of(config);
  RunFolder folder(request.runs_folder, run_id);
  std::string reason;
  if (reusable(folder, config, canary, &reason)) {
    print(request.name, folder.summary(), /*reused=*/true);
    return kExitOk;
  }
  if (!reason.empty()) log_warning(request.name + " is done anew: " + reason);
  folder.clear();
  folder.write_manifest(manifest_of(config, request.name, machine, canary));
  const auto start = std::chrono::steady_clock::now();
  const Rows rows = measured(c);
  folder.open_steps(0);
  for (const auto& row : rows.rows()) folder.append_step(row);
  folder.finish({{"schema", "normbench-summary-1"},
                 {"run_id", run_id},
                 {"status", "finished"},
                 {"rows", rows.rows().size()},
                 {"values", rows.values()},
                 {"seconds_measure",
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}},
                summary_of_rows);
  print(request.name, folder.summary(), /*reused=*/false);
  return kExitOk;
}

}  // namespace normbench
