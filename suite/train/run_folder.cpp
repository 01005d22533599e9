#include "suite/train/run_folder.h"

#include <torch/version.h>

#include <filesystem>

#include "suite/base/log.h"
#include "suite/base/record_digest.h"

namespace normbench {
namespace {

/// The object in `file`; null when it is absent, or holds none: then `*damage` says what it holds.
Json read_object(const std::string& file, std::string* damage) {
  if (!std::filesystem::exists(file)) return {};
  try {
    Json json = read_json(file);
    if (json.is_object()) return json;
    *damage = file + " holds no JSON object";
  } catch (const UserError& e) {
    *damage = e.what();
  }
  return {};
}

/// Why a finished record cannot stand for the run; empty when it can. Throws UserError or
/// Json::exception when its files hold something that no run writes.
std::string fault_of(const RunFolder& folder, const Json& manifest, const Json& summary,
                     const Json& config, const CanaryResult& canary) {
  if (manifest.value("config", Json()) != config) return "its configuration was edited";
  if (auto stale = staleness(manifest, canary); !stale.empty()) return stale;
  if (summary.value("run_id", "") != run_id_of(config) || !summary.contains("record_digest"))
    return "its summary is damaged";
  size_t cut = 0;
  const auto lines = read_record_lines(folder.path() + "/steps.jsonl.zst", &cut);
  return cut == 0 && record_digest(manifest, lines, summary) == summary["record_digest"]
             ? ""
             : "its digest does not match its content";
}

}  // namespace

RunFolder::RunFolder(const std::string& runs, const std::string& run_id)
    : path_(runs + "/" + run_id) {
  make_folders(path_);
  lock_ = std::make_unique<FileLock>(path_ + "/lock", /*wait=*/true, "run " + run_id);
}

Json RunFolder::manifest() const {
  std::string ignored;
  return read_object(path_ + "/manifest.json", &ignored);
}

Json RunFolder::summary() const {
  std::string ignored;
  return read_object(path_ + "/summary.json", &ignored);
}

std::string RunFolder::damage() const {
  std::string found;
  for (const char* file : {"/manifest.json", "/summary.json"}) read_object(path_ + file, &found);
  return found;
}

void RunFolder::write_manifest(const Json& manifest) {
  write_json(path_ + "/manifest.json", manifest);
}

int64_t RunFolder::num_step_lines() const {
  const std::string file = path_ + "/steps.jsonl.zst";
  if (!std::filesystem::exists(file)) return 0;
  try {
    return static_cast<int64_t>(read_record_lines(file).size());
  } catch (const UserError& e) {
    log_warning(e.what());
    std::filesystem::remove(file);
    return 0;
  }
}

void RunFolder::open_steps(int64_t steps) {
  steps_ = std::make_unique<RecordWriter>(path_ + "/steps.jsonl.zst", static_cast<size_t>(steps));
}

void RunFolder::finish(Json summary, Json (*of_lines)(const std::vector<std::string>&)) {
  steps_->flush();
  const auto lines = read_record_lines(path_ + "/steps.jsonl.zst");
  const char* count = summary.contains("rows") ? "rows" : "steps";
  NORMBENCH_CHECK(static_cast<int64_t>(lines.size()) == summary.at(count).get<int64_t>(),
                  std::to_string(lines.size()));
  summary.update(of_lines(lines));
  const Json manifest = read_json(path_ + "/manifest.json");
  write_json(path_ + "/summary.json", sealed_summary(manifest, lines, std::move(summary)));
}

void RunFolder::clear() {
  steps_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.path().filename() != "lock") std::filesystem::remove_all(entry.path());
}

Json manifest_of(const Json& config, const std::string& name, const Fingerprint& print,
                 const CanaryResult& canary) {
  Json manifest = {
      {"schema", "normbench-run-1"},
      {"run_id", run_id_of(config)},
      {"name", name},
      {"config", config},
      {"perf_class", print.perf_class},
      {"fingerprint", print.details},
      {"build",
       {{"version", NORMBENCH_VERSION}, {"compiler", __VERSION__}, {"libtorch", TORCH_VERSION}}}};
  write_canary(canary, manifest);
  return manifest;
}

bool reusable(const RunFolder& folder, const Json& config, const CanaryResult& canary,
              std::string* reason) {
  if (*reason = folder.damage(); !reason->empty()) return false;
  const Json manifest = folder.manifest(), summary = folder.summary();
  if (manifest.is_null() || summary.is_null()) return false;
  try {
    *reason = fault_of(folder, manifest, summary, config, canary);
  } catch (const UserError& e) {
    *reason = e.what();
  } catch (const Json::exception& e) {
    *reason = std::string("its record is damaged: ") + e.what();
  }
  return reason->empty();
}

}  // namespace normbench
