// What judge is told about a table: filled in by suite/app from the plan, so that judge and plan
// need not know each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "suite/base/canary_result.h"
#include "suite/base/json.h"

namespace normbench {

/// One run that the plan asks for: of an arm, or of a measurement that trains nothing.
struct RunRef {
  std::string run_id;  // names its folder below the runs folder
  std::string name;    // run.<paper>.<table>.<tier>....
  std::string arm;
  std::string dataset;  // the table's setting: one size on one text
  int64_t token_budget = 0;
  int64_t seed = 0;
  double peak_lr = 0;
  std::string data = {};    // the data set, where the setting has a name of its own
  std::string task = {};    // not empty: a measurement; `arm` is its name, the data set is empty
  std::string canary = {};  // names its canary in JudgeInput::canaries
};

struct ArmInfo {
  std::string name;   // "gpt_plus"
  std::string label;  // "GPT+"
  std::string note;
  std::string
      warning;  // not empty: a warning row, shown with this text and never part of a verdict
};

/// Something measured without training: a time, a Hessian, an identity.
struct MeasurementInfo {
  std::string name, label, note;
};

/// A planned tuned rate, as the table file holds it.
struct PeakLr {
  int64_t token_budget = 0;
  double peak_lr = 0;
};

/// What a token of training costs beside the parameters that a record counts.
struct TokenCost {
  double idle_parameters = 0;  // that multiply nothing for a given token
  double attention_flops = 0;  // of scores and weighted sums
};

struct JudgeInput {
  std::string paper, table, tier, title, table_file;
  std::string yardstick;  // the arm that the ledger measures all others by; empty: none
  Json source;            // where in which paper
  std::string size;       // "4 layers, width 64, ... 327,680 parameters"
  std::vector<ArmInfo> arms;
  std::vector<MeasurementInfo> measurements;
  std::vector<std::string> datasets;
  std::vector<RunRef> runs;        // what verdicts read
  std::vector<RunRef> sweep_runs;  // learning-rate trials, on other seeds
  std::map<std::string, std::map<std::string, std::vector<PeakLr>>>
      peak_lr;     // [arm][dataset], sorted by budget
  Json claims;     // the table's "claims" array
  Json published;  // baselines/published/<paper>.json
  // [RunRef::canary] of this build on this machine; absent: unknown (offline judging). Settings of
  // an arm that clip differently have different canaries.
  std::map<std::string, CanaryResult> canaries;
  /// [digest of the training tokens]: their unigram entropy, where it was counted.
  std::map<std::string, double> unigram_entropy_nats;
  std::map<std::string, std::map<std::string, TokenCost>> token_cost;  // [arm][dataset]
  Json deviations, not_tested;
  double alpha = 0.05;         // of every interval of this tier: 1 - alpha confidence, two-sided
  std::string peak_lr_source;  // not empty: where rates come from that this tier did not sweep
                               // itself ("Fig. G.1")
  std::vector<std::string> untuned_arms;  // those whose rates are guesses
};

}  // namespace normbench
