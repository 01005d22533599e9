#include "suite/app/publish_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "suite/app/canaries.h"
#include "suite/base/files.h"
#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/judge/ledger.h"
#include "suite/judge/overview.h"
#include "suite/judge/record.h"

namespace normbench {
namespace {

namespace fs = std::filesystem;

/// What there is to publish, by run id, and what must not be.
struct Selection {
  std::vector<std::string> fresh;     // usable records of this machine, to be copied
  std::vector<std::string> kept;      // usable ones that this table has published
  std::vector<std::string> unusable;  // "<run> in <folder> is damaged: <reason>"
};

std::vector<Record> load_planned(const JudgeInput& input, const std::string& runs_folder) {
  auto records = load_records(runs_folder, input.runs, input.canaries);
  for (auto& trial : load_records(runs_folder, input.sweep_runs, input.canaries))
    records.push_back(std::move(trial));
  return records;
}

/// A record of this machine goes before the published one of the same run. That it cannot be
/// believed is no reason to fall back on the other: somebody should know.
Selection select(const JudgeInput& input, const std::string& own, const std::string& published) {
  Selection selection;
  const auto refuse = [&](const Record& record, const std::string& folder) {
    selection.unusable.push_back(record.run.name + " in " + folder + "/" + record.run.run_id +
                                 " is " + record_state_name(record.state) + ": " + record.reason);
  };
  const auto mine = load_planned(input, own), earlier = load_planned(input, published);
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].usable())
      selection.fresh.push_back(mine[i].run.run_id);
    else if (mine[i].state != RecordState::kAbsent)
      refuse(mine[i], own);
    else if (earlier[i].usable())
      selection.kept.push_back(earlier[i].run.run_id);
    else if (earlier[i].state != RecordState::kAbsent)
      refuse(earlier[i], published);
  }
  return selection;
}

void refuse_unusable(const std::vector<std::string>& unusable) {
  if (unusable.empty()) return;
  throw UserError({.what = fmt::format("nothing is published: {} of the records cannot be believed",
                                       unusable.size()),
                   .found = join(unusable, "\n            "),
                   .expected = "records that are whole and of this build, or absent",
                   .todo = "normbench run NAME trains one anew; or remove its folder"});
}

/// Runs of the selection whose record lay in results/published/ before, in whichever table's
/// folder: `normbench run` takes such records over, and then they are this machine's own too.
int64_t published_before(const Project& project, const PlannedTier& planned,
                         const Selection& selection) {
  return std::count_if(planned.runs.begin(), planned.runs.end(), [&](const PlannedRun& run) {
    return (is_one_of(run.run_id, selection.fresh) || is_one_of(run.run_id, selection.kept)) &&
           !published_records(project, run).empty();
  });
}

/// The summary last: a folder without one is a run that is not finished.
void copy_record(const fs::path& from, const fs::path& to) {
  for (const char* file : {"manifest.json", "steps.jsonl.zst", "summary.json"})
    write_file_atomically((to / file).string(), read_file((from / file).string()));
}

/// A record whose run the table no longer plans (after a change of a rate, say) is in no ledger.
void tell_of_strangers(const JudgeInput& input, const std::string& published) {
  std::vector<std::string> planned, strangers;
  for (const auto* runs : {&input.runs, &input.sweep_runs})
    for (const auto& run : *runs) planned.push_back(run.run_id);
  for (const auto& entry : fs::directory_iterator(published))
    if (const auto id = entry.path().filename().string(); !is_one_of(id, planned))
      strangers.push_back(id);
  if (strangers.empty()) return;
  std::sort(strangers.begin(), strangers.end());
  log_warning(count_text(strangers.size(), "record") + " in " + published +
              " of no run that the table plans now, which no ledger reads and which you may "
              "remove: " +
              join(strangers, " "));
}

}  // namespace

int publish_command(const Project& project, const PublishCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const PlannedTier& planned = only_one(plan);
  const std::string folder =
      project.published(planned.table->paper, planned.table->name, planned.tier->name);
  const std::string published = folder + "/runs";
  run_missing_canaries(project, planned, [&](const PlannedRun& run) {
    return has_record(run, project.runs()) || has_record(run, published);
  });
  const JudgeInput input = judge_input(project, planned);
  const Selection selection = select(input, project.runs(), published);
  refuse_unusable(selection.unusable);
  const size_t total = selection.fresh.size() + selection.kept.size();
  if (total == 0)
    throw UserError({.what = "there are no finished records to publish", .where = project.runs()});
  const int64_t before = published_before(project, planned, selection);
  for (const auto& id : selection.fresh)
    copy_record(project.runs() + "/" + id, published + "/" + id);
  const Json ledger = judge_table(input, published, project.baselines());
  write_json(folder + "/ledger.json", ledger);
  write_file_atomically(folder + "/ledger.txt", ledger_text(ledger));
  write_file_atomically(project.published() + "/README.md", overview_page(project.published()));
  std::cout << fmt::format("{} of {} records, {} of them published before, and the ledger: {}\n",
                           total, planned.runs.size(), before, folder);
  tell_of_strangers(input, published);
  return kExitOk;
}

}  // namespace normbench
