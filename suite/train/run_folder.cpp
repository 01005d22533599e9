#include "suite/train/run_folder.h"

#include <filesystem>
#include <limits>

#include "suite/base/hash.h"
#include "suite/base/log.h"
#include "suite/base/record_digest.h"

namespace normbench {
namespace {

/// XXH3 over the float bits of every step's loss, in order: equal curves, to the last bit.
std::string losses_digest(const std::vector<std::string>& lines) {
  std::vector<float> losses;
  for (const auto& line : lines) {
    const Json step = Json::parse(line);
    const Json& loss = step.at("loss");
    losses.push_back(loss.is_null() ? std::numeric_limits<float>::quiet_NaN() : loss.get<float>());
  }
  StreamHash hash;
  hash.update_values<float>(losses);
  return hash.hex();
}

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

void RunFolder::finish(Json summary) {
  steps_->flush();
  const auto lines = read_record_lines(path_ + "/steps.jsonl.zst");
  NORMBENCH_CHECK(static_cast<int64_t>(lines.size()) == summary.at("steps").get<int64_t>(),
                  std::to_string(lines.size()));
  summary["steps_digest"] = losses_digest(lines);
  write_json(path_ + "/summary.json", sealed_summary(manifest(), lines, std::move(summary)));
}

void RunFolder::clear() {
  steps_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.path().filename() != "lock") std::filesystem::remove_all(entry.path());
}

}  // namespace normbench
