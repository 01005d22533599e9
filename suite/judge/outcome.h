// The possible answers to a claim, and the one place where an interval becomes one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suite/base/json.h"
#include "suite/judge/statistics.h"

namespace normbench {

enum class Outcome {
  kReproduced,
  kDirectionOnly,
  kNotReproduced,
  kInconclusive,
  kBaselineUntuned,
  kOutOfScale,
  kMachineUnfit,
  kNotRun,
};
const char* outcome_name(Outcome outcome);
/// Throws UserError for a name that is none.
Outcome outcome_from_name(const std::string& name, const std::string& where);
/// Whether `now` says less than `committed`: REPRODUCED > DIRECTION_ONLY > INCONCLUSIVE >
/// NOT_REPRODUCED. The others say nothing about the claim: losing an answer for one of them is
/// "less", too.
bool falls_below(Outcome now, Outcome committed);

/// A measured effect on a scale where 0 is "no effect" and the claim is positive (ln of a ratio,
/// nats gained, ...).
struct Effect {
  std::vector<double> values;  // one a pair; a censored pair holds its bound
  int bounded_below = 0;       // pairs whose value is only ">= it"
  int bounded_above = 0;       // pairs whose value is only "<= it"
  /// The difference of losses at equal budget, never censored, positive when the challenger is
  /// better: with censored pairs, the direction must stand on it (n equal bounds have no spread, so
  /// their t interval would be too sure). Its values, one a pair in which both runs ended.
  std::optional<Interval> equal_budget = {};
  std::vector<double> equal_budget_values = {};

  double mean = 0, s = 0, p_value = 1;
  Interval of_values = {};    // t interval of `values`
  Interval interval = {};     // the same, open where censored pairs open it
  bool has_interval = false;  // n >= 2
  /// Some pairs are only bounds or diverged: p and s are those of the others and say too much.
  bool open() const { return bounded_below > 0 || bounded_above > 0; }
  /// Fills in the rest from `values`.
  void finish(double alpha);
};

/// The verdict of the statistics alone. `claimed` > 0.
///   REPRODUCED      the interval lies above 0 and reaches `claimed`
///   DIRECTION_ONLY  it lies above 0, and below `claimed`; or censored pairs leave the size open
///                   and their bounds do not reach it; with pairs that are only "<= it": below
///                   `claimed` (by bounds that are not all equal: an interval without width
///                   excludes nothing), while the losses at equal budget lie above 0
///   NOT_REPRODUCED  it lies below 0; with pairs that are only "<= it": below `claimed`, while the
///                   losses at equal budget lie below 0 (a bound of "<= no effect" cannot)
///   INCONCLUSIVE    it holds 0
Outcome decide_superiority(const Effect& effect, double claimed);

/// The verdict about a number that is claimed to within `tolerance`: a slope, a coefficient.
///   REPRODUCED      the interval lies inside claimed +- tolerance
///   DIRECTION_ONLY  it lies outside, on the claimed side of 0
///   NOT_REPRODUCED  it lies outside, and not on the claimed side of 0
///   INCONCLUSIVE    it lies partly inside, or is open
Outcome decide_within(const Interval& interval, double claimed, double tolerance);

inline constexpr const char* kAsMeasured = "the effect is as large as measured";

/// Pairs with which an effect is found with 80 % power, if what is assumed of it is true.
struct PairsNeeded {
  int n = 0;  // 1001 stands for "more than 1000"
  const char* if_true = kAsMeasured;
  bool alone = false;     // of several effects this one settles the claim, whatever the others do
  bool at_least = false;  // the most of several effects, which all have to be found
};
/// For an INCONCLUSIVE effect: of the claimed size, or else of the measured one; always more than
/// there are. With censored pairs: those with which the measured difference of losses at equal
/// budget is found, or, where the losses show the direction, those that exclude the claimed size.
/// Empty where bounds or diverged runs open the end that would have to pass 0: no
/// number of further pairs closes it.
std::optional<PairsNeeded> more_pairs(const Effect& effect, double claimed, double alpha);

struct Verdict {
  std::string claim, statement, conditions, rule, challenger, reference, dataset;
  std::vector<std::string> arms;  // all whose runs decide
  std::string measurement;        // in place of arms
  Outcome outcome = Outcome::kNotRun;
  Outcome statistics_say = Outcome::kNotRun;  // before scale, tuning and machine were looked at
  std::string reason;                         // one plain sentence
  Json paper;        // {"value", "unit", "how", "where"}; null for a margin
  std::string unit;  // "x" (ratio), "nats", "%", "tokens", "" (a number with the digits it needs)
  std::optional<double> estimate, low, high;  // in `unit`; an end that is absent is open
  std::string bound;  // "", ">=", "<=": what `estimate` is when most pairs are censored
  int pairs = 0, planned_pairs = 0;
  std::vector<int64_t> budgets, seeds;  // that the estimate rests on
  std::optional<double> detectable;     // smallest effect found with 80 % power, in `unit`
  std::optional<int> pairs_needed;      // for INCONCLUSIVE, where further pairs can settle it
  // Of "no effect" (non_inferiority: of "worse by the margin"); adjusted over the table's verdicts.
  std::optional<double> p_value, p_holm;
  bool alone_only = false;  // it stands by p_value and not by p_holm
  Json per_budget = Json::array();
  Json seconds, paper_estimator;  // beside the token ratio; null where they do not apply
  Json smooth;  // the same statistics with the rungs joined by a smooth curve; or null
  Json trials = Json::object();    // [arm]: learning-rate trials that ran
  Json detail;                     // what only this rule measures; or null
  std::string machine_unfit;       // why the times decide nothing; set by a rule about times
  std::vector<std::string> facts;  // `detail` in sentences
  std::vector<std::string> diverged, missing, notes;

  Json json() const;
};

}  // namespace normbench
