#pragma once

#include <string>

#include "suite/app/project.h"

namespace normbench {

struct JudgeCommand {
  std::string tier, only;
  std::string runs_folder;  // "": results/runs
  std::string claim, regression_arm, metric = "validation_loss";
  std::string json_file, out;
  bool write = false;
};

/// Prints the ledger of every selected table and tier, or runs one check (check_command.h). Exit
/// code 77 when there are no records and this machine could not have made any.
int judge_command(const Project& project, const JudgeCommand& request);
/// Writes the page.
int report_command(const Project& project, const JudgeCommand& request);
/// Learning rates from the sweep: prints them, or writes those that verdict runs want into the
/// table file. A setting that trains its sweep alone has no use for a chosen rate. Without any
/// trial it ends as judge_command() does without records.
int tune_command(const Project& project, const JudgeCommand& request);

struct BlessCommand {
  std::string tier, only, reason;
  std::string runs_folder;  // "": results/runs
};
/// Writes baselines: all that are selected, or none when one of them cannot be made. Canaries that
/// are not known are run first: records of another build are refused.
int bless_command(const Project& project, const BlessCommand& request);

}  // namespace normbench
