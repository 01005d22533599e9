// A ledger's entries in words: terminal and page say the same.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

const Json& arm_of(const Json& ledger, const std::string& name);
/// "anGPT against GPT+", "the order GPT+, nGPT, anGPT", "anGPT", a measurement's label.
std::string who_text(const Json& ledger, const Json& verdict);
/// A learning rate, or "-" for a sweep without any trial.
std::string rate_text(const Json& rate);
/// Of an entry of the ledger's "measurements": a line a value.
std::vector<std::string> measurement_facts(const Json& measurement);
/// `digits` decimals, or "open" for an end that is not there.
std::string number_text(const Json& value, int digits);
/// "1.40x", "4.20 %", "-0.110" (nats), "2.31 M" (tokens), "1.2e-16" (a plain number).
std::string unit_text(const Json& value, const std::string& unit, int nats_digits = 3);
std::string paper_text(const Json& verdict);
std::string here_text(const Json& verdict);
/// What the interval of a verdict is: "interval 95 %", or "grid range", which is none.
std::string interval_label(const Json& ledger, const Json& verdict);
std::string interval_text(const Json& verdict);
/// What stands under a verdict: by budget, in seconds, the paper's own estimator, power, trials,
/// notes, diverged runs.
std::vector<std::string> verdict_facts(const Json& ledger, const Json& verdict);

/// Does a budget of some verdict carry the star of those that are not part of it?
bool has_star(const Json& ledger);
/// The label of the arm that the rows of "step_times" or "token_flops" are relative to on a
/// dataset;
/// "" where there are no rows.
std::string relative_to(const Json& ledger, const char* rows, const Json& dataset);

/// What some tables show beside their losses: equal loss against the yardstick, largest stable
/// rates.
struct ShownTable {
  std::string title, explanation;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string note = {};
};
std::vector<ShownTable> shown_tables(const Json& ledger);
/// "155 of 160 finished, 1 diverged, ...".
std::string runs_text(const Json& ledger);
/// "2 REPRODUCED, 1 NOT_RUN".
std::string verdicts_text(const Json& ledger);
/// "arXiv ..., Figure 3, digitized".
std::string source_text(const Json& ledger);

}  // namespace normbench
