#include "suite/judge/record.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>
#include <thread>

#include "suite/base/files.h"
#include "suite/base/record_digest.h"
#include "suite/base/record_stream.h"

namespace normbench {
namespace {

Record& give_up(Record& record, RecordState state, const std::string& reason) {
  record.state = state;
  record.reason = reason;
  return record;
}

std::string differs(const std::string& what, const std::string& found,
                    const std::string& expected) {
  return what + " is " + found + ", expected " + expected;
}

// A message of several lines in one: "a key is missing; where: ...; found: ...".
std::string in_one_line(const std::string& message) {
  static const std::regex label("\n *([a-z ]+:) +");
  return std::regex_replace(message, label, "; $1 ");
}

std::string string_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : "";
}

// Empty when `config` is the planned one.
std::string difference_from_plan(const Json& config, const RunRef& run) {
  const bool trains = run.task.empty();
  const auto compare = [&](const char* key, const Json& planned) -> std::string {
    const Json found = config.contains(key) ? config[key] : Json();
    return found == planned
               ? ""
               : differs(std::string("the configuration's ") + key, found.dump(), planned.dump());
  };
  using Planned = std::vector<std::pair<const char*, Json>>;
  for (const auto& [key, planned] :
       trains ? Planned{{"seed", run.seed},
                        {"token_budget", run.token_budget},
                        {"dataset", run.data.empty() ? run.dataset : run.data},
                        {"peak_lr", run.peak_lr}}
              : Planned{{"task", run.task}, {"seed", run.seed}})
    if (const auto text = compare(key, planned); !text.empty()) return text;
  return "";
}

// Empty when the step lines, those of `file`, are those of a whole run.
std::string fault_of_steps(const std::vector<std::string>& lines, const JsonObject& summary,
                           const RunRef& run, const std::string& file) {
  const auto steps = summary.required<int64_t>("steps");
  if (static_cast<int64_t>(lines.size()) != steps)
    return differs("the number of step lines", std::to_string(lines.size()), std::to_string(steps));
  if (lines.empty()) return "there is no step line";
  const std::string first_line = file + ", first line", last_line = file + ", last line";
  const Json first = parse_json(lines.front(), first_line),
             last = parse_json(lines.back(), last_line);
  const Json first_step = JsonObject(first, first_line).raw("step");
  if (first_step != 1) return differs("the first step", first_step.dump(), "1");
  const JsonObject end(last, last_line);
  if (end.raw("step") != steps)
    return differs("the last step", end.raw("step").dump(), std::to_string(steps));
  const Json &tokens = end.raw("tokens"), &promised = summary.raw("tokens");
  if (tokens != promised) return differs("the last step's tokens", tokens.dump(), promised.dump());
  if (summary.raw("status") == "finished" && tokens != run.token_budget)
    return differs("the last step's tokens", tokens.dump(),
                   "the budget " + std::to_string(run.token_budget));
  return "";
}

// Empty when the lines are the rows of a whole measurement.
std::string fault_of_rows(const std::vector<std::string>& lines, const JsonObject& summary) {
  if (summary.raw("status") != "finished")
    return differs("the status", summary.raw("status").dump(), "finished");
  const auto rows = summary.required<int64_t>("rows");
  if (static_cast<int64_t>(lines.size()) != rows)
    return differs("the number of rows", std::to_string(lines.size()), std::to_string(rows));
  for (size_t i = 0; i < lines.size(); ++i)
    if (number_in_line(lines[i], "row") != static_cast<double>(i + 1))
      return differs("row " + std::to_string(i + 1), lines[i].substr(0, 60),
                     "\"row\":" + std::to_string(i + 1));
  for (const auto& [name, value] : summary.object("values").value().items())
    if (!value.is_number()) return differs("value " + name, value.dump(), "a number");
  return "";
}

}  // namespace

const char* record_state_name(RecordState state) {
  switch (state) {
    case RecordState::kFinished:
      return "finished";
    case RecordState::kDiverged:
      return "diverged";
    case RecordState::kAbsent:
      return "absent";
    case RecordState::kDamaged:
      return "damaged";
    case RecordState::kStale:
      return "stale";
  }
  return "?";
}

std::string unusable_text(const Record& record) {
  return record.run.name + " is " + record_state_name(record.state) + ": " + record.reason;
}

double Record::validation_loss() const {
  NORMBENCH_CHECK(usable(), run.name + " is " + record_state_name(state));
  return diverged() ? std::numeric_limits<double>::infinity()
                    : summary.at("validation_loss").get<double>();
}

std::string Record::numeric_class() const { return string_at(manifest, "numeric_class"); }

double number_in_line(const std::string& line, const std::string& key) {
  const std::string mark = "\"" + key + "\":";
  const size_t start = line.find(mark);
  double value = std::numeric_limits<double>::quiet_NaN();
  if (start != std::string::npos)
    std::from_chars(line.data() + start + mark.size(), line.data() + line.size(), value);
  return value;
}

Record load_record(const std::string& runs_folder, const RunRef& run,
                   const std::optional<CanaryResult>& canary) {
  Record record;
  record.run = run;
  // The id hashes the digest of the tokens: where these are not prepared, there is none yet.
  if (run.run_id.empty())
    return give_up(record, RecordState::kAbsent,
                   "data set " + (run.data.empty() ? run.dataset : run.data) +
                       " is not prepared (normbench data prepare)");
  const std::string folder = runs_folder + "/" + run.run_id;
  if (!std::filesystem::exists(folder + "/summary.json"))
    return give_up(record, RecordState::kAbsent,
                   std::filesystem::exists(folder)
                       ? "the run has begun, but is not finished (no summary.json)"
                       : "there is no folder " + run.run_id);
  try {
    const std::string manifest_file = folder + "/manifest.json",
                      summary_file = folder + "/summary.json",
                      steps_file = folder + "/steps.jsonl.zst";
    record.manifest = read_json(manifest_file);
    record.summary = read_json(summary_file);
    const JsonObject manifest(record.manifest, manifest_file),
        summary(record.summary, summary_file);
    const auto damaged = [&](const std::string& reason) -> Record& {
      return give_up(record, RecordState::kDamaged, reason);
    };
    if (manifest.raw("schema") != "normbench-run-1")
      return damaged(
          differs("the manifest's schema", manifest.raw("schema").dump(), "normbench-run-1"));
    if (summary.raw("schema") != "normbench-summary-1")
      return damaged(
          differs("the summary's schema", summary.raw("schema").dump(), "normbench-summary-1"));
    if (manifest.raw("run_id") != run.run_id)
      return damaged(differs("the manifest's run id", manifest.raw("run_id").dump(),
                             run.run_id + " (another run's record?)"));
    if (summary.raw("run_id") != run.run_id)
      return damaged(differs("the summary's run id", summary.raw("run_id").dump(),
                             run.run_id + " (another run's record?)"));
    const Json& config = manifest.object("config").value();
    if (run_id_of(config) != run.run_id)
      return damaged(differs("the hash of the configuration", run_id_of(config), run.run_id));
    if (const auto text = difference_from_plan(config, run); !text.empty()) return damaged(text);
    size_t cut = 0;
    record.step_lines = read_record_lines(steps_file, &cut);
    if (cut > 0)
      return damaged("steps.jsonl.zst ends in the middle of a frame (" + std::to_string(cut) +
                     " bytes)");
    const auto fault = run.task.empty()
                           ? fault_of_steps(record.step_lines, summary, run, steps_file)
                           : fault_of_rows(record.step_lines, summary);
    if (!fault.empty()) return damaged(fault);
    const std::string digest = record_digest(record.manifest, record.step_lines, record.summary);
    if (summary.raw("record_digest") != digest)
      return damaged("the record was changed after the run: " +
                     differs("its digest", digest, summary.raw("record_digest").dump()));
    const auto status = summary.required<std::string>("status");
    if (status != "finished" && status != "diverged")
      return damaged(differs("the status", status, "finished or diverged"));
    if (run.task.empty() && status == "finished" &&
        double_bits(summary.required<double>("validation_loss")) !=
            summary.raw("validation_loss_bits"))
      return damaged("the validation loss and its bits disagree");
    if (canary)
      if (const auto why = staleness(record.manifest, *canary); !why.empty())
        return give_up(record, RecordState::kStale, why);
    record.state = status == "finished" ? RecordState::kFinished : RecordState::kDiverged;
  } catch (const Json::exception& e) {  // "[json.exception.type_error.302] type must be ..."
    const std::string text = e.what();
    give_up(record, RecordState::kDamaged, folder + ": " + text.substr(text.find("] ") + 2));
  } catch (const std::exception& e) {
    give_up(record, RecordState::kDamaged, in_one_line(e.what()));
  }
  return record;
}

std::vector<Record> load_records(const std::string& runs_folder, const std::vector<RunRef>& runs,
                                 const std::map<std::string, CanaryResult>& canaries) {
  std::vector<Record> records(runs.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < runs.size();) {
      const auto canary = canaries.find(runs[i].canary);
      records[i] =
          load_record(runs_folder, runs[i],
                      canary == canaries.end() ? std::nullopt : std::optional(canary->second));
    }
  };
  // Decompression and hashing of some hundred files: two threads keep a judgement of a large table
  // under a second.
  std::thread helper(work);
  work();
  helper.join();

  std::map<std::string, std::string> first_with_place;
  std::map<std::string, const RunRef*> first_with_steps;
  for (auto& record : records) {
    const RunRef& run = record.run;
    const std::string place =
        canonical(Json{run.arm, run.dataset, run.token_budget, run.seed, run.peak_lr});
    const auto [planned, is_new] = first_with_place.emplace(place, run.name);
    if (!is_new)
      give_up(record, RecordState::kDamaged, "the seed is planned twice, see " + planned->second);
    if (!record.usable() || record.is_measurement()) continue;
    // Two seeds of an arm start from other weights and see other data: equal steps are a copied
    // file. (Two rates of one seed may share them: the first step has not seen the rate, and a far
    // too large one diverges at the second. A measurement may find the same with every seed.)
    const std::string steps = string_at(record.summary, "steps_digest");
    const std::string key = canonical(Json{run.arm, run.dataset, run.token_budget, steps});
    const RunRef& other = *first_with_steps.emplace(key, &run).first->second;
    if (run.seed != other.seed && !steps.empty())
      give_up(record, RecordState::kDamaged,
              "its steps are those of " + other.name + " " + other.run_id +
                  ": one of the two is a copy");
  }
  return records;
}

}  // namespace normbench
