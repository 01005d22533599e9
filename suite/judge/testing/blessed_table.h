// What tests of the gate and of bless begin with.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "suite/base/files.h"
#include "suite/base/record_digest.h"
#include "suite/judge/baseline.h"
#include "suite/judge/bless.h"
#include "suite/judge/gate.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench::testing {

/// Invented records of a small table, and the baseline that they were blessed to.
class BlessedTable : public ::testing::Test {
 protected:
  BlessedTable() {
    options.budgets = {262144, 524288, 1048576};
    options.seeds = {1, 2, 3};
    input = synthetic_input(options);
    write_all(runs.path(), input, options);
    file = baselines.path("measured/cpu/angpt.convergence.json");
    bless(input, runs.path(), file, reason);
  }
  CheckResult check(const std::string& arm = "angpt",
                    const std::string& metric = "validation_loss") {
    return check_regression(input, runs.path(), file, arm, metric, regression_family(input));
  }
  void expect_red(const std::string& text, const std::string& arm = "angpt",
                  const std::string& metric = "validation_loss") {
    const CheckResult result = check(arm, metric);
    EXPECT_EQ(result.color, CheckResult::Color::kRed) << result.text;
    EXPECT_NE(result.text.find(text), std::string::npos) << result.text;
  }
  const RunRef& run_of(const std::string& arm, int64_t seed = 2) {
    for (const auto& run : input.runs)
      if (run.arm == arm && run.seed == seed && run.token_budget == 524288) return run;
    throw std::runtime_error("no run");
  }
  void edit_baseline(const std::function<void(Json&)>& edit) {
    Json baseline = read_json(file);
    edit(baseline);
    write_json(file, baseline);
  }
  static void set_values(Json& group, const Json& values) {
    group = statistics_of(values);
    group["values"] = values;
  }
  void other_class(double shift_angpt = 0) {
    auto other = options;
    other.numeric_class = "another class";
    for (const auto& run : input.runs)
      write_record(runs.path(), run, other, {.summary = [&](Json& s) {
                     const double loss = s["validation_loss"].get<double>() + 1e-5 +
                                         (run.arm == "angpt" ? shift_angpt : 0);
                     s["validation_loss"] = loss;
                     s["validation_loss_bits"] = double_bits(loss);
                   }});
  }
  SyntheticOptions options;
  TemporaryFolder runs, baselines;
  JudgeInput input;
  std::string file;
  BlessOptions reason{
      .reason = "first measurement", .commit = "abc", .date = "2026-01-01", .may_diverge = {}};
};

}  // namespace normbench::testing
