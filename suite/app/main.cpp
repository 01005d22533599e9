// normbench: plans, judges, reports, prepares data, without torch. What needs torch is handed to
// normbench-worker.
#include <CLI/CLI.hpp>

#include "suite/app/command_line.h"
#include "suite/app/data_cli.h"
#include "suite/app/doctor_command.h"
#include "suite/app/exit_codes.h"
#include "suite/app/judge_command.h"
#include "suite/app/plan_command.h"
#include "suite/app/project.h"
#include "suite/app/publish_command.h"
#include "suite/app/required.h"
#include "suite/app/run_command.h"
#include "suite/base/errors.h"
#include "suite/base/interrupt.h"

namespace normbench {
namespace {

/// --tier and --only, the same for every command that selects tables.
void add_selection(CLI::App* command, std::string& tier, std::string& only) {
  command->add_option("--tier", tier, "smoke, cpu, gpu or paper")->check(kNotEmpty);
  command->add_option("--only", only, "a paper (angpt) or a table (angpt.convergence)")
      ->check(kNotEmpty);
}

void add_runs(CLI::App* command, std::string& folder) {
  command->add_option("--runs", folder, "folder of records (default results/runs)")
      ->check(kNotEmpty);
}

int run(int argc, char** argv) {
  check_required_words();
  CLI::App app("Re-trains the tables of the papers on normalised transformers and judges them.",
               "normbench");
  app.set_version_flag("--version", NORMBENCH_VERSION);
  app.require_subcommand(1);
  std::string root;
  app.add_option("--root", root, "the checkout; by default the one around the current folder")
      ->check(kNotEmpty);
  int code = kExitOk;
  const auto project = [&] { return Project::locate(root); };

  PlanCommand plan;
  auto* plan_app =
      app.add_subcommand("plan", "runs, time left and power of each tier, before anything starts");
  add_selection(plan_app, plan.tier, plan.only);
  auto* list = plan_app->add_flag("--list", plan.list, "every run with its id and state");
  plan_app->add_option("--ctest", plan.ctest_file, "write the tests as a CTest script to this file")
      ->check(kFileToWrite)
      ->excludes(list);
  plan_app->callback([&] { code = plan_command(project(), plan); });

  RunCommand run;
  auto* run_app = app.add_subcommand("run", "train one run of the plan (CTest calls this)");
  run_app->add_option("name", run.name, "name or id of a run, as `normbench plan --list` prints it")
      ->required();
  run_app
      ->add_option("--checkpoint-seconds", run.checkpoint_seconds,
                   "a checkpoint at least this often; 0: every step")
      ->check(number_within(at_least(0)))
      ->capture_default_str();
  run_app->add_flag("--keep-checkpoints", run.keep_checkpoints,
                    "keep the last two when the run is finished");
  run_app->callback([&] { code = run_command(project(), run); });

  JudgeCommand judge;
  auto* judge_app = app.add_subcommand(
      "judge", "the ledger: what the paper says, what came out, how sure we are");
  add_selection(judge_app, judge.tier, judge.only);
  add_runs(judge_app, judge.runs_folder);
  auto* claim = judge_app->add_option("--claim", judge.claim, "judge one claim (a CTest check)")
                    ->check(kNotEmpty);
  auto* regression = judge_app
                         ->add_option("--regression", judge.regression_arm,
                                      "gate one arm against its committed baseline (a CTest check)")
                         ->check(kNotEmpty)
                         ->excludes(claim);
  judge_app->add_option("--metric", judge.metric, "with --regression: validation_loss or verdict")
      ->needs(regression)
      ->capture_default_str();
  judge_app->add_option("--json", judge.json_file, "also write the ledger as JSON")
      ->check(kFileToWrite)
      ->excludes(claim)
      ->excludes(regression);
  judge_app->callback([&] { code = judge_command(project(), judge); });

  JudgeCommand report;
  auto* report_app = app.add_subcommand("report", "the ledger as one self-contained page");
  add_selection(report_app, report.tier, report.only);
  add_runs(report_app, report.runs_folder);
  report_app->add_option("--out", report.out, "where to write (default results/report/index.html)")
      ->check(kFileToWrite);
  report_app->callback([&] { code = report_command(project(), report); });

  BlessCommand bless;
  auto* bless_app = app.add_subcommand(
      "bless", "commit what this machine measured as the baseline of its numeric class");
  add_selection(bless_app, bless.tier, bless.only);
  add_runs(bless_app, bless.runs_folder);
  bless_app->add_option("--reason", bless.reason, "why the baseline changes")
      ->required()
      ->check(kNotEmpty);
  bless_app->callback([&] { code = bless_command(project(), bless); });

  JudgeCommand tune;
  auto* tune_app = app.add_subcommand(
      "tune", "learning rates from the finished sweep, as the table file wants them");
  add_selection(tune_app, tune.tier, tune.only);
  add_runs(tune_app, tune.runs_folder);
  tune_app->add_flag("--write", tune.write, "write them into the table file");
  tune_app->callback([&] { code = tune_command(project(), tune); });

  PublishCommand publish;
  auto* publish_app = app.add_subcommand(
      "publish", "copy the usable records and the ledger of a tier to results/published");
  add_selection(publish_app, publish.tier, publish.only);
  publish_app->callback([&] { code = publish_command(project(), publish); });

  add_data_command(app, project, code);

  DoctorCommand doctor;
  auto* doctor_app =
      app.add_subcommand("doctor", "what this machine is, what it can run, what is missing");
  doctor_app
      ->add_option("--device", doctor.device,
                   "only check that this device can be used: cpu or cuda")
      ->check(kNotEmpty);
  doctor_app->callback([&] { code = doctor_command(project(), doctor); });

  std::vector<std::string> files;
  auto* parity = app.add_subcommand(
      "parity", "compare models, operators, optimizers and schedules with golden files");
  parity->add_option("files", files, "golden files (.safetensors)")->required()->check(kNotEmpty);
  parity->callback([&] {
    std::vector<std::string> arguments = {"parity"};
    arguments.insert(arguments.end(), files.begin(), files.end());
    code = call_worker(project(), arguments);
  });

  ThroughputCommand throughput;
  auto* throughput_app = app.add_subcommand(
      "throughput", "tokens per second of whole training steps of one planned run");
  throughput_app
      ->add_option("name", throughput.name,
                   "name or id of a run, as `normbench plan --list` prints it")
      ->required();
  throughput_app->add_option("--steps", throughput.steps, "timed steps")
      ->check(kTimedSteps)
      ->capture_default_str();
  throughput_app->callback([&] { code = throughput_command(project(), throughput); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) refuse_unknown_words(app);
    return app.exit(e) == 0 ? static_cast<int>(kExitOk) : static_cast<int>(kExitWrongUse);
  }
  return code;
}

}  // namespace
}  // namespace normbench

int main(int argc, char** argv) {
  normbench::install_interrupt_handler();
  return normbench::exit_code_of([&] { return normbench::run(argc, argv); });
}
