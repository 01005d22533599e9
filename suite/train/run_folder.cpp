#include "suite/train/run_folder.h"

#include <torch/version.h>

#include <filesystem>

#include "suite/base/log.h"
#include "suite/base/record_digest.h"

namespace normbench {
namespace {

Json read_if_present(const std::string& file) {
  return std::filesystem::exists(file) ? read_json(file) : Json();
}

}  // namespace

RunFolder::RunFolder(const std::string& runs, const std::string& run_id)
    : path_(runs + "/" + run_id) {
  make_folders(path_);
  lock_ = std::make_unique<FileLock>(path_ + "/lock", /*wait=*/false, "run " + run_id);
}

Json RunFolder::manifest() const { return read_if_present(path_ + "/manifest.json"); }
Json RunFolder::summary() const { return read_if_present(path_ + "/summary.json"); }
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

void RunFolder::finish(Json summary,
                       std::string (*digest_of_lines)(const std::vector<std::string>&)) {
  steps_->flush();
  const auto lines = read_record_lines(path_ + "/steps.jsonl.zst");
  const char* count = summary.contains("rows") ? "rows" : "steps";
  NORMBENCH_CHECK(static_cast<int64_t>(lines.size()) == summary.at(count).get<int64_t>(),
                  std::to_string(lines.size()));
  summary["steps_digest"] = digest_of_lines(lines);
  write_json(path_ + "/summary.json", sealed_summary(manifest(), lines, std::move(summary)));
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
  const Json manifest = folder.manifest(), summary = folder.summary();
  if (manifest.is_null() || summary.is_null()) return false;
  if (manifest.value("config", Json()) != config)
    *reason = "its configuration was edited";
  else if (*reason = staleness(manifest, canary); !reason->empty())
    return false;
  else if (summary.value("run_id", "") != run_id_of(config) || !summary.contains("record_digest"))
    *reason = "its summary is damaged";
  else {
    *reason = "its digest does not match its content";
    try {
      size_t cut = 0;
      const auto lines = read_record_lines(folder.path() + "/steps.jsonl.zst", &cut);
      if (cut == 0 && record_digest(manifest, lines, summary) == summary["record_digest"])
        return true;
    } catch (const UserError& e) {
      *reason = e.what();
    }
  }
  return false;
}

}  // namespace normbench
