// Records of measurements, and the rules about them: exact_identity, fitted_exponent, time_ratio.
#include <gtest/gtest.h>

#include <cmath>

#include "suite/judge/bless.h"
#include "suite/judge/gate.h"
#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/world.h"

namespace normbench {
namespace {

using testing::claim_error;
using testing::name;
using testing::RecordEdit;
using testing::SyntheticOptions;
using testing::World;

SyntheticOptions small() {
  SyntheticOptions options;
  options.budgets = {262144, 524288};
  return options;
}

std::vector<Json> power_rows(double factor, double exponent, double noise = 0) {
  std::vector<Json> rows;
  for (int i = 0; i < 6; ++i) {
    const double x = std::pow(2.0, i);
    rows.push_back({{"c", x},
                    {"kind", "linear"},
                    {"h", factor * std::pow(x, exponent) * std::exp(i % 2 == 0 ? noise : -noise)}});
    rows.push_back({{"c", x}, {"kind", "normed"}, {"h", 1.5}});
  }
  return rows;
}

std::string state(const Record& record) {
  return std::string(record_state_name(record.state)) + ": " + record.reason;
}

TEST(MeasurementRecord, IsBelievedOnlyWhenWholeAndThePlannedOne) {
  const testing::TemporaryFolder folder;
  const RunRef run = testing::measurement_run("hessian", 3);
  const auto load = [&](const RecordEdit& edit = {}) {
    testing::write_measurement(folder.path(), run, power_rows(2, 2), {{"worst", 1e-16}}, edit);
    return load_record(folder.path(), run, std::nullopt);
  };
  EXPECT_EQ(state(load()), "finished: ");
  EXPECT_EQ(load().step_lines.size(), 12u);
  EXPECT_NE(state(load({.lines = [](auto& lines) { lines.pop_back(); }})).find("number of rows"),
            std::string::npos);
  EXPECT_NE(
      state(load({.lines = [](auto& lines) { std::swap(lines[1], lines[2]); }})).find("row 2"),
      std::string::npos);
  EXPECT_NE(state(load({.summary = [](Json& s) { s["values"]["worst"] = "small"; }}))
                .find("value worst is \"small\", expected a number"),
            std::string::npos);
  EXPECT_NE(state(load({.summary = [](Json& s) { s["status"] = "diverged"; }})).find("the status"),
            std::string::npos);
  EXPECT_NE(state(load({.manifest = [](Json& m) { m["config"]["seed"] = 4; }})).find("damaged"),
            std::string::npos);
  load();
  RunRef other = run;
  other.task = "another";
  EXPECT_NE(state(load_record(folder.path(), other, std::nullopt)).find("configuration's task"),
            std::string::npos);
  EXPECT_NE(state(load_record(folder.path(), run,
                              CanaryResult{SyntheticOptions{}.numeric_class, "new digest", {}}))
                .find("stale"),
            std::string::npos);
  const std::string summary = folder.path(run.run_id) + "/summary.json";
  Json edited = read_json(summary);
  edited["values"]["worst"] = 0.0;
  write_json(summary, edited);
  EXPECT_NE(state(load_record(folder.path(), run, std::nullopt)).find("changed after the run"),
            std::string::npos);
}

Json identity(double tolerance) {
  return {{"rule", "exact_identity"},
          {"measurement", "identities"},
          {"value", "fold"},
          {"tolerance", tolerance}};
}

TEST(ExactIdentity, HoldsForEverySeedOrNot) {
  World world(small());
  world.measure("identities", 1, {}, {{"fold", 2e-16}, {"other", 5.0}});
  world.measure("identities", 2, {}, {{"fold", -3e-15}, {"other", 5.0}});
  const Verdict verdict = world.judge(identity(1e-14), "identities");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_EQ(*verdict.estimate, -3e-15);
  EXPECT_EQ(verdict.pairs, 2);
  const Verdict no = world.judge(identity(1e-15), "identities");
  EXPECT_EQ(name(no.outcome), "NOT_REPRODUCED") << no.reason;
  EXPECT_NE(no.reason.find("1 of them within 1e-15"), std::string::npos) << no.reason;
}

TEST(ExactIdentity, AMissingMeasurementIsNotRunAndAnUnplannedOneToo) {
  World world(small());
  world.measure("identities", 1, {}, {{"fold", 0.0}});
  world.measure("identities", 2, {}, {{"fold", 0.0}});
  std::filesystem::remove_all(world.folder.path(world.input.runs.back().run_id));
  EXPECT_EQ(name(world.judge(identity(1e-9), "identities").outcome), "NOT_RUN");
  EXPECT_EQ(check_claim(world.input, world.folder.path(), "here").color, CheckResult::Color::kRed);
  world.input.runs.clear();
  EXPECT_EQ(name(world.judge(identity(1e-9), "identities").outcome), "NOT_RUN");
}

TEST(ExactIdentity, IsReadStrictly) {
  World world(small());
  world.measure("identities", 1, {}, {{"fold", 0.0}});
  EXPECT_EQ(claim_error(world.input, identity(1e-9)), "");
  EXPECT_NE(claim_error(world.input, identity(0)).find("a limit that nothing can keep"),
            std::string::npos);
  Json claim = identity(1e-9);
  claim["measurement"] = "identites";
  EXPECT_NE(claim_error(world.input, claim).find("did you mean \"identities\"?"),
            std::string::npos);
  claim = identity(1e-9);
  claim.erase("tolerance");
  EXPECT_NE(claim_error(world.input, claim).find("tolerance"), std::string::npos);
  claim = identity(1e-9);
  claim["value"] = "flod";
  EXPECT_THROW(world.judge(claim, "identities"), UserError);
}

Json exponent(World& world, double published, double tolerance) {
  world.publish(published, "exponent");
  return {{"rule", "fitted_exponent"},
          {"measurement", "hessian"},
          {"x", "c"},
          {"y", "h"},
          {"where", {{"kind", "linear"}}},
          {"published", "/number"},
          {"tolerance", tolerance}};
}

TEST(FittedExponent, OfOneExactSeed) {
  World world(small());
  world.measure("hessian", 1, power_rows(1.7, 2), Json::object());
  const Verdict verdict = world.judge(exponent(world, 2, 1e-6), "hessian");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NEAR(*verdict.estimate, 2, 1e-12);
  EXPECT_EQ(verdict.detail["by_seed"][0]["rows"], 6);
  EXPECT_EQ(name(world.judge(exponent(world, 3, 1e-6), "hessian").outcome), "DIRECTION_ONLY");
  EXPECT_EQ(name(world.judge(exponent(world, -2, 1e-6), "hessian").outcome), "NOT_REPRODUCED");
  EXPECT_EQ(name(world.judge(exponent(world, 0, 1e-6), "hessian").outcome), "NOT_REPRODUCED");
}

TEST(FittedExponent, NoiseWiderThanTheToleranceIsInconclusive) {
  World world(small());
  world.measure("hessian", 1, power_rows(1.7, 2, .1), Json::object());
  const Verdict verdict = world.judge(exponent(world, 2, .01), "hessian");
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE") << verdict.reason;
  EXPECT_LT(*verdict.low, *verdict.high);
  // Seeds, not rows, make the interval when there are several.
  for (const int64_t seed : {2, 3, 4})
    world.measure("hessian", seed, power_rows(1.7, 2, .1), Json::object());
  const Verdict several = world.judge(exponent(world, 2, .2), "hessian");
  EXPECT_EQ(name(several.outcome), "REPRODUCED") << several.reason;
  EXPECT_NEAR(*several.low, *several.high, 1e-12);  // equal seeds
}

TEST(FittedExponent, RowsThatCannotBeFittedAreRefused) {
  World world(small());
  world.measure("hessian", 1, {{{"c", 1}, {"h", 0.0}}, {{"c", 2}, {"h", 1.0}}}, Json::object());
  Json claim = exponent(world, 2, .1);
  EXPECT_THROW(world.judge(claim, "hessian"), UserError);  // no column "kind"
  claim.erase("where");
  EXPECT_THROW(world.judge(claim, "hessian"), UserError);  // no logarithm of 0
  claim["where"] = {{"c", 2}};
  EXPECT_THROW(world.judge(claim, "hessian"), UserError);  // one x
  claim["where"] = {{"c", 7}};
  EXPECT_THROW(world.judge(claim, "hessian"), UserError);  // no row
  claim["where"] = "c";
  EXPECT_NE(claim_error(world.input, claim).find("an object"), std::string::npos);
  claim = exponent(world, 2, .1);
  claim["y"] = "hh";
  EXPECT_THROW(world.judge(claim, "hessian"), UserError);
}

Json time_of_runs() {
  return {{"rule", "time_ratio"},
          {"challenger", "angpt"},
          {"reference", "gpt_plus"},
          {"published", "/number"}};
}

// Step times of angpt: 1.09 with a little noise of each seed. `unrest`: mean over median of them.
World world_with_times(double ratio, double unrest = 1.01) {
  World world(small());
  for (const auto& run : world.input.runs)
    testing::write_record(
        world.folder.path(), run, world.options, {.summary = [&](Json& summary) {
          const double step =
              (run.arm == "angpt" ? ratio : 1) *
              (.1 + .0002 * static_cast<double>((run.seed * 7 + run.arm.size()) % 5));
          summary["step_seconds_median"] = step;
          summary["seconds_train"] = unrest * step * summary["steps"].get<double>();
        }});
  return world;
}

TEST(TimeRatio, OfTrainingRuns) {
  World world = world_with_times(1.09);
  world.publish(1.09, "ratio");
  const Verdict verdict = world.judge(time_of_runs());
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  EXPECT_NEAR(*verdict.estimate, 1.09, .01);
  world.publish(1.5, "ratio");
  EXPECT_EQ(name(world.judge(time_of_runs()).outcome), "DIRECTION_ONLY");
  world.publish(1.02, "ratio");  // a larger cost than the paper's is not the paper's
  const Verdict more = world.judge(time_of_runs());
  EXPECT_EQ(name(more.outcome), "DIRECTION_ONLY");
  EXPECT_NE(more.reason.find("more than the paper's"), std::string::npos) << more.reason;
  world.publish(.9, "ratio");
  EXPECT_EQ(name(world.judge(time_of_runs()).outcome), "NOT_REPRODUCED");
  World equal = world_with_times(1);
  equal.publish(1.09, "ratio");
  EXPECT_EQ(name(equal.judge(time_of_runs()).outcome), "INCONCLUSIVE");
}

TEST(TimeRatio, AnUnquietMachineDecidesNothingAndTuningDoesNotMatter) {
  World quiet = world_with_times(1.09);
  quiet.publish(1.09, "ratio");
  quiet.input.sweep_runs.clear();
  const Verdict fit = quiet.judge(time_of_runs());
  EXPECT_EQ(name(fit.outcome), "REPRODUCED");
  EXPECT_NE(fit.reason.find("not in turn"), std::string::npos) << fit.reason;
  // A fifth of the time went elsewhere: an effect of 9 % cannot be seen, one of 50 % can.
  World unquiet = world_with_times(1.09, 1.2);
  unquiet.publish(1.09, "ratio");
  const Verdict verdict = unquiet.judge(time_of_runs());
  EXPECT_EQ(name(verdict.outcome), "MACHINE_UNFIT") << verdict.reason;
  EXPECT_EQ(name(verdict.statistics_say), "REPRODUCED");
  unquiet.publish(1.5, "ratio");
  EXPECT_EQ(name(unquiet.judge(time_of_runs()).outcome), "DIRECTION_ONLY");
}

TEST(TimeRatio, RunsThatAreSlowFromBeginningToEndShowInTheirSpread) {
  // Quiet steps in every run; two seeds of five were trained in a slow hour that both arms met.
  const auto world_with_slow_hour = [](double factor) {
    World world = world_with_times(1.09);
    for (const auto& run : world.input.runs)
      testing::write_record(
          world.folder.path(), run, world.options, {.summary = [&](Json& summary) {
            const double step =
                (run.arm == "angpt" ? .109 : .1) * (run.seed <= 2 ? factor : 1.0) *
                (1 + .002 * static_cast<double>((run.seed * 7 + run.arm.size()) % 5));
            summary["step_seconds_median"] = step;
            summary["seconds_train"] = step * summary["steps"].get<double>();
          }});
    return world;
  };
  World quiet = world_with_slow_hour(1);
  quiet.publish(1.09, "ratio");
  EXPECT_EQ(name(quiet.judge(time_of_runs()).outcome), "REPRODUCED");
  World slow = world_with_slow_hour(1.5);
  slow.publish(1.09, "ratio");
  const Verdict verdict = slow.judge(time_of_runs());
  EXPECT_EQ(name(verdict.outcome), "MACHINE_UNFIT") << verdict.reason;
  EXPECT_NE(verdict.reason.find("off their median"), std::string::npos) << verdict.reason;
  // exp(2/5 ln 1.5): .4 of the runs are off by that factor.
  EXPECT_NEAR(verdict.detail["spread"]["anGPT"].get<double>(), std::exp(.4 * std::log(1.5)), .01);
}

TEST(TimeRatio, RunsOfTwoMachinesAreNotCompared) {
  World world = world_with_times(1.09);
  world.publish(1.09, "ratio");
  for (const auto& run : world.input.runs)
    if (run.arm == "angpt" && run.seed > 1)
      testing::write_record(world.folder.path(), run, world.options,
                            {.manifest = [](Json& m) { m["perf_class"] = "another"; }});
  const Verdict verdict = world.judge(time_of_runs());
  EXPECT_EQ(name(verdict.outcome), "INCONCLUSIVE");
  EXPECT_NE(verdict.reason.find("two kinds of machine"), std::string::npos) << verdict.reason;
}

TEST(TimeRatio, InsideAMeasurement) {
  World world(small());
  world.publish(.5, "ratio");
  for (const int64_t seed : {1, 2, 3})
    world.measure(
        "speed", seed, {},
        {{"fused_seconds", .050 + .0001 * static_cast<double>(seed)}, {"plain_seconds", .102}});
  Json claim = {{"rule", "time_ratio"},
                {"measurement", "speed"},
                {"value", "fused_seconds"},
                {"over", "plain_seconds"},
                {"published", "/number"}};
  const Verdict verdict = world.judge(claim, "speed");
  EXPECT_EQ(name(verdict.outcome), "REPRODUCED") << verdict.reason;
  world.publish(2, "ratio");
  EXPECT_EQ(name(world.judge(claim, "speed").outcome), "NOT_REPRODUCED");
  claim["over"] = "plain";
  EXPECT_NE(claim_error(world.input, claim).find("_seconds"), std::string::npos);
  claim["over"] = "unfused_seconds";
  EXPECT_THROW(world.judge(claim, "speed"), UserError);
  claim["challenger"] = "angpt";
  EXPECT_NE(claim_error(world.input, claim).find("challenger"), std::string::npos);
}

TEST(TimeRatio, RowsWithBothTimesWereTakenInTurnAndTellOfUnrest) {
  const Json claim = {{"rule", "time_ratio"},
                      {"measurement", "speed"},
                      {"value", "fused_seconds"},
                      {"over", "plain_seconds"},
                      {"published", "/number"}};
  // Nine quiet rows and one whose plain time is `disturbed`: the median does not move.
  const auto judge = [&](double disturbed) {
    World world(small());
    world.publish(.5, "ratio");
    for (const int64_t seed : {1, 2, 3}) {
      const double fused = .050 + .0001 * static_cast<double>(seed);
      const Json row = {{"fused_seconds", fused}, {"plain_seconds", .102}};
      std::vector<Json> rows(9, row);
      rows.push_back({{"fused_seconds", fused}, {"plain_seconds", disturbed}});
      world.measure("speed", seed, rows, {{"fused_seconds", fused}, {"plain_seconds", .102}});
    }
    return world.judge(claim, "speed");
  };
  const Verdict quiet = judge(.102);
  EXPECT_EQ(name(quiet.outcome), "REPRODUCED") << quiet.reason;
  EXPECT_EQ(quiet.reason.find("not in turn"), std::string::npos) << quiet.reason;
  // (9 + 11) / 10 = 2 times the median: as much as the claimed factor.
  EXPECT_EQ(name(judge(11.1 * .102).outcome), "MACHINE_UNFIT");
}

TEST(Measurements, AreShownBlessedAndGated) {
  World world(small());
  world.measure("identities", 1, {}, {{"fold", 2e-16}});
  world.judge(identity(1e-14), "identities");
  const Json ledger = judge_table(world.input, world.folder.path(), "");
  EXPECT_EQ(ledger["claims"][0]["measurement"], "identities");
  EXPECT_EQ(ledger["measurements"][0]["runs"][0]["values"]["fold"], 2e-16);
  EXPECT_NE(ledger_text(ledger).find("fold 2e-16"), std::string::npos) << ledger_text(ledger);
  const std::string page = report_page({ledger}, "");
  EXPECT_NE(page.find("what identities is"), std::string::npos);
  EXPECT_NE(page.find("&lt;= 1e-14"), std::string::npos);

  EXPECT_EQ(regression_metrics(world.input, "identities"), std::vector<std::string>{"verdict"});
  EXPECT_EQ(regression_family(world.input), 4u);  // groups of losses only: 2 arms, 2 budgets
  const std::string file = world.folder.path("baseline.json");
  bless(world.input, world.folder.path(), file,
        {.reason = "first", .commit = "abc", .date = "2026-01-01", .may_diverge = {}});
  const auto check = [&] {
    return check_regression(world.input, world.folder.path(), file, "identities", "verdict", 1);
  };
  EXPECT_TRUE(check().green()) << check().text;
  testing::write_measurement(world.folder.path(), world.input.runs.back(), {}, {{"fold", 1.0}});
  EXPECT_FALSE(check().green()) << check().text;
}

}  // namespace
}  // namespace normbench
