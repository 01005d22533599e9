// The record of one run, written as it goes: manifest.json, steps.jsonl.zst, summary.json
// (docs/formats.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suite/base/canary_result.h"
#include "suite/base/files.h"
#include "suite/base/json.h"
#include "suite/base/record_stream.h"
#include "suite/train/fingerprint.h"

namespace normbench {

class RunFolder {
 public:
  /// Creates and locks <runs>/<run_id>; waits while another process trains this run (files.h), so
  /// that two sessions of CTest at once train it once and both are green. What lies in the folder
  /// must be looked at afterwards.
  RunFolder(const std::string& runs, const std::string& run_id);

  const std::string& path() const { return path_; }
  /// Manifest of an earlier session; null when there is none, or none that can be read.
  Json manifest() const;
  /// Summary of a finished run; null as above.
  Json summary() const;
  /// Why one of the two cannot be read; empty when both can be, or are absent.
  std::string damage() const;
  void write_manifest(const Json& manifest);

  /// Opens the step stream; keeps the lines of the first `steps` steps.
  void open_steps(int64_t steps);
  /// Whole lines in the step stream; 0 when it is damaged: the run then starts anew.
  int64_t num_step_lines() const;
  void append_step(const Json& line) { steps_->append(line); }
  void flush_steps() { steps_->flush(); }

  /// Adds what `of_lines` says of all lines, those of earlier sessions too (steps_digest at least),
  /// and record_digest, and writes summary.json: from then on the run is finished. The summary's
  /// "steps" (of a measurement: "rows") must be the number of lines written.
  void finish(Json summary, Json (*of_lines)(const std::vector<std::string>&));
  /// Removes everything but the lock: the run starts anew.
  void clear();

 private:
  std::string path_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<RecordWriter> steps_;
};

/// What the manifest of every record holds; training adds "data" and "parameters".
Json manifest_of(const Json& config, const std::string& name, const Fingerprint& print,
                 const CanaryResult& canary);

/// Can the finished record in `folder` stand for a run of this configuration by this build? False
/// with an empty `*reason` when there is none; otherwise the reason says why not, of a damaged
/// record too: whatever its files hold, the run is done anew. A record from another class of
/// machine stands when its canary agrees (suite/base/canary_result.h).
bool reusable(const RunFolder& folder, const Json& config, const CanaryResult& canary,
              std::string* reason);

}  // namespace normbench
