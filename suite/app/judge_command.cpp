#include "suite/app/judge_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>

#include "suite/app/canaries.h"
#include "suite/app/check_command.h"
#include "suite/app/doctor_command.h"
#include "suite/base/files.h"
#include "suite/base/log.h"
#include "suite/base/text.h"
#include "suite/judge/baseline.h"
#include "suite/judge/bless.h"
#include "suite/judge/gate.h"
#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/sweep.h"

namespace normbench {
namespace {

/// The folder of --runs, or results/runs, which need not be there yet.
std::string runs_of(const Project& project, const std::string& given) {
  if (given.empty()) return project.runs();
  if (!std::filesystem::is_directory(given))
    throw UserError({.what = "no folder of records",
                     .where = "--runs " + given,
                     .found = std::filesystem::exists(given) ? "a file" : "nothing of that name",
                     .expected = "a folder such as results/runs"});
  return given;
}

struct Ledgers {
  std::vector<Json> all;
  std::vector<std::string> refused;  // "paper.table, tier"

  /// Throws UserError when a table got none, after the others have been shown.
  void finish() const {
    if (!refused.empty())
      throw UserError({.what = "no ledger could be made of " + join(refused, "; "),
                       .todo = "the warnings say what is wrong with a claim or a baseline of it"});
  }
};

/// Ledgers of what was run. A tier that nobody ran has none. A claim that asks its records for what
/// they do not have costs its own table the ledger, not the others.
Ledgers ledgers(const Project& project, const Plan& plan, const std::string& runs_folder) {
  Ledgers ledgers;
  for (const auto& planned : plan.tiers()) {
    if (!any_record(planned, runs_folder)) continue;
    try {
      ledgers.all.push_back(
          judge_table(judge_input(project, planned), runs_folder, project.baselines()));
    } catch (const UserError& e) {
      ledgers.refused.push_back(planned.table->paper + "." + planned.table->name + ", tier " +
                                planned.tier->name);
      log_warning(ledgers.refused.back() + ": " + e.what());
    }
  }
  return ledgers;
}

/// Why this machine can train none of it; empty when it can.
std::string why_not_here(const Project& project, const PlannedTier& planned) {
  if (const std::string why = why_no_device(project, planned.tier->device); !why.empty()) {
    refuse_to_skip(project, planned);
    return why;
  }
  const bool has_data = std::any_of(planned.runs.begin(), planned.runs.end(),
                                    [](const PlannedRun& run) { return !run.run_id.empty(); });
  if (has_data) return "";
  refuse_to_skip(project, planned);
  return "its data sets are yours to bring (normbench data prepare --help)";
}

/// Nobody has run what a command reads, which is an error where somebody could have. `missing`:
/// "there are no records to judge"; `does`: what the command would do with the published ones.
int nothing_to_read(const Project& project, const Plan& plan, const std::string& runs_folder,
                    const std::string& missing, const std::string& does) {
  std::string text;
  for (const auto& planned : plan.tiers()) {
    const std::string why = why_not_here(project, planned);
    if (why.empty()) {
      const std::string published =
          project.published(planned.table->paper, planned.table->name, planned.tier->name) +
          "/runs";
      const bool other = std::filesystem::exists(published) && published != runs_folder;
      throw UserError(
          {.what = missing,
           .where = runs_folder,
           .todo =
               "./run_all.sh --tier " + planned.tier->name + " --only " + planned.table->paper +
               "." + planned.table->name + " trains them; --runs " +
               (other ? published + " " + does + " the published ones" : "names another folder")});
    }
    text += "skipped: " + planned.table->paper + "." + planned.table->name + ", tier " +
            planned.tier->name + ", has no records, and " + why + "\n";
  }
  std::cout << text;
  return kExitSkipped;
}

int nothing_to_judge(const Project& project, const Plan& plan, const std::string& runs_folder) {
  return nothing_to_read(project, plan, runs_folder, "there are no records to judge", "judges");
}

/// Whether none of the trials that the tier plans has a record. A tier without trials has no sweep,
/// which is another matter.
bool lacks_all_trials(const PlannedTier& planned, const std::string& runs_folder) {
  bool plans = false;
  for (const auto& run : planned.runs) {
    if (!run.sweep) continue;
    if (has_record(run, runs_folder)) return false;
    plans = true;
  }
  return plans;
}

/// Settings whose sweep says the rates of their verdict runs. In a setting without token budgets
/// the sweep itself is the experiment, and a rate in the table would be an error of it. Throws
/// UserError when there is none.
std::set<std::string> settings_to_tune(const PlannedTier& planned) {
  std::set<std::string> settings;
  bool swept = false;
  for (const auto& setting : planned.tier->settings) {
    if (setting.sweep.grid.empty()) continue;
    swept = true;
    if (!setting.token_budgets.empty()) settings.insert(setting.name);
  }
  if (settings.empty())
    throw UserError(
        {.what = swept ? "no rate is wanted: what is swept has no token_budgets to train with it"
                       : "this tier plans no sweep that could say a rate",
         .where = planned.table->file + ", tier " + planned.tier->name});
  return settings;
}

/// Standard output of a command, without its last newline; "" when it fails.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  std::string text;
  if (pipe == nullptr) return text;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  if (::pclose(pipe) != 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Where baselines stand until all of them are made; goes with its owner.
class Drafts {
 public:
  explicit Drafts(const Project& project)
      : folder_(project.cache() + "/bless." + std::to_string(::getpid())) {}
  ~Drafts() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Drafts(const Drafts&) = delete;
  Drafts& operator=(const Drafts&) = delete;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// A baseline that is not written yet, and what is said when it is.
struct Blessed {
  std::string file, bytes, text;
};

Blessed blessed(const Project& project, const JudgeInput& input, const std::string& runs_folder,
                const BlessOptions& options, const Drafts& drafts) {
  const std::string file = baseline_path(input, project.baselines()),
                    draft = baseline_path(input, drafts.folder());
  if (std::filesystem::exists(file)) {
    read_baseline(input, file);  // what is wrong with it is said of the file, not of its copy
    write_file_atomically(draft, read_file(file));
  }
  const std::string text = bless(input, runs_folder, draft, options);
  return {file, read_file(draft), file + text.substr(draft.size())};
}

}  // namespace

int judge_command(const Project& project, const JudgeCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const std::string runs = runs_of(project, request.runs_folder);
  if (!request.claim.empty() || !request.regression_arm.empty())
    return check_command(project, only_one(plan), request);
  const Ledgers made = ledgers(project, plan, runs);
  if (made.all.empty() && made.refused.empty()) return nothing_to_judge(project, plan, runs);
  for (const auto& ledger : made.all) std::cout << ledger_text(ledger) << "\n";
  if (!request.json_file.empty()) write_json(request.json_file, made.all);
  made.finish();
  return kExitOk;
}

int report_command(const Project& project, const JudgeCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const std::string runs = runs_of(project, request.runs_folder);
  const std::string out =
      request.out.empty() ? project.results() + "/report/index.html" : request.out;
  const Ledgers made = ledgers(project, plan, runs);
  if (made.all.empty() && made.refused.empty()) return nothing_to_judge(project, plan, runs);
  write_report(made.all, out);
  std::cout << "written: " << out << "\n";
  made.finish();
  return kExitOk;
}

int tune_command(const Project& project, const JudgeCommand& request) {
  const Plan plan(project, request.only, request.tier);
  const PlannedTier& planned = only_one(plan);
  const std::string runs = runs_of(project, request.runs_folder);
  if (lacks_all_trials(planned, runs))
    return nothing_to_read(project, plan, runs, "there are no trials to choose a rate from",
                           "tunes by");
  const TuneResult result = tune(judge_input(project, planned), runs);
  for (const auto& problem : result.problems) log_warning(problem);
  // The table file groups rates by setting, then by arm.
  Json by_setting = Json::object();
  for (const auto& [arm, settings] : result.peak_lr.items())
    for (const auto& [setting, rates] : settings.items()) by_setting[setting][arm] = rates;
  if (!request.write) {
    std::cout << pretty(by_setting) << "\n";
    return kExitOk;
  }
  const auto wanted = settings_to_tune(planned);
  if (!result.complete)
    throw UserError({.what = "the sweep is not complete",
                     .todo = "ctest --preset " + planned.tier->name + " -L kind.sweep -L table." +
                             planned.table->paper + "." + planned.table->name + "$"});
  // Ordered, so that the file keeps the order in which a person wrote it.
  const std::string file = planned.table->file;
  auto table = nlohmann::ordered_json::parse(read_file(file));
  for (const auto& setting : wanted)
    for (const auto& [arm, list] : by_setting.at(setting).items())
      table["tiers"][planned.tier->name]["settings"][setting]["peak_lr"][arm] =
          nlohmann::ordered_json::parse(list.dump());
  write_file_atomically(file, pretty(table) + "\n");
  std::cout << "written: " << file << "\n";
  return kExitOk;
}

int bless_command(const Project& project, const BlessCommand& request) {
  const Plan plan(project, request.only, request.tier);
  BlessOptions options;
  options.reason = request.reason;
  options.commit = output_of("git -C '" + project.root + "' rev-parse --short HEAD");
  options.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  const std::string runs = runs_of(project, request.runs_folder);
  const Drafts drafts(project);
  std::vector<Blessed> all;
  for (const auto& planned : plan.tiers()) {
    run_missing_canaries(project, planned,
                         [&](const PlannedRun& run) { return has_record(run, runs); });
    all.push_back(blessed(project, judge_input(project, planned), runs, options, drafts));
  }
  for (const auto& baseline : all) {
    write_file_atomically(baseline.file, baseline.bytes);
    std::cout << baseline.text << "\n";
  }
  return kExitOk;
}

}  // namespace normbench
