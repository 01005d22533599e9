// What a token of training costs in seconds, from the records of whole runs. The plan lets the arms
// take turns, so two arms' runs of one seed and budget are neighbours in time: they are compared
// with each other, and only where one kind of machine ran both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suite/judge/evidence.h"

namespace normbench {

/// median of its steps * steps / tokens. Empty for a diverged run, or one that timed no step.
std::optional<double> seconds_per_token(const Record& record);

/// [kind of machine]: seconds per token of one arm's runs.
using SecondsByMachine = std::map<std::string, std::vector<double>>;
/// exp of the mean of |ln(x / m)|, with m the median on the run's kind of machine: how far equal
/// work is from taking equal time. Needs a run.
double spread_of(const SecondsByMachine& of_arm);

struct TimeRatio {
  double ratio = 1;          // geometric mean over the pairs
  double low = 1, high = 1;  // the smallest and the largest of them: what the machine's moods allow
  int pairs = 0;
  double spread = 1;  // of the arm whose runs are the more uneven ones
};

/// Seconds per token of `arm` / of `other`, over the pairs of finished runs of equal seed, budget
/// and perf class. Empty when there is no such pair.
std::optional<TimeRatio> token_time_ratio(const Evidence& evidence, const std::string& arm,
                                          const std::string& other, const std::string& dataset);

/// Tokens per second of an arm, the median over its finished runs. Empty when there are none, or
/// when they come from several perf classes.
std::optional<double> tokens_per_second(const Evidence& evidence, const std::string& arm,
                                        const std::string& dataset);

}  // namespace normbench
