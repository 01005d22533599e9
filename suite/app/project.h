// Where things lie, and what the tables of this checkout ask for.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/input.h"
#include "suite/plan/ctest_list.h"
#include "suite/plan/expand.h"

namespace normbench {

struct Project {
  std::string root;     // the checkout
  std::string program;  // this executable

  /// root: as given; else $NORMBENCH_ROOT; else the nearest folder above the current one, or above
  /// the program, that holds suite/tables/sizes.json. Throws UserError when there is none.
  static Project locate(const std::string& given_root);

  std::string tables() const { return root + "/suite/tables"; }
  std::string results() const { return root + "/results"; }
  std::string runs() const { return results() + "/runs"; }
  std::string cache() const { return results() + "/cache"; }
  std::string canaries() const { return cache() + "/canary"; }
  std::string baselines() const { return root + "/baselines"; }
  std::string published() const { return results() + "/published"; }
  /// Records and ledger of a tier that we stand behind.
  std::string published(const std::string& paper, const std::string& table,
                        const std::string& tier) const {
    return published() + "/" + paper + "." + table + "." + tier;
  }
  std::string worker() const;    // normbench-worker beside this program
  std::string registry() const;  // registry.json beside this program
};

/// Those of data.json.
std::vector<std::string> dataset_names(const Project& project);

/// Tables read, expanded and checked (plan_checks.h): `only` as read_tables, `tier` a name or ""
/// for all. Throws UserError when nothing is left, or on anything a run or a judgement could trip
/// over.
class Plan {
 public:
  Plan(const Project& project, const std::string& only, const std::string& tier);

  const std::vector<PlannedTier>& tiers() const { return tiers_; }
  /// The run of this name. Throws UserError with the nearest name.
  const PlannedRun& run(const std::string& name) const;

 private:
  std::vector<Table> tables_;
  std::vector<PlannedTier> tiers_;
};

/// The one table and tier that a check or a change of a file is about. Throws UserError when more
/// are selected.
const PlannedTier& only_one(const Plan& plan);

/// The part of it that the claims of a table are read with: everything but its runs.
JudgeInput claims_input(const Project& project, const PlannedTier& planned);

/// What judge needs to know of one tier of one table, but for the canaries of this build.
JudgeInput table_input(const Project& project, const PlannedTier& planned);

/// The same with the canaries that this build has run on this machine (canaries.h).
JudgeInput judge_input(const Project& project, const PlannedTier& planned);

/// Is there a finished record, whatever it says?
bool has_record(const PlannedRun& run, const std::string& runs_folder);
bool any_record(const PlannedTier& planned, const std::string& runs_folder);

/// Folders of the published records of this run, whichever tables published it, by name.
std::vector<std::string> published_records(const Project& project, const PlannedRun& run);
/// Those that `normbench run` may take over: it takes the first that is whole. None when this
/// machine has a record of its own, be it half of one.
std::vector<std::string> adoptable_records(const Project& project, const PlannedRun& run);

}  // namespace normbench
