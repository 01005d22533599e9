// The ledger: everything that is known about one table at one tier, as JSON (schema
// normbench-ledger-1) and as text for a terminal. It is a function of records, plan, published
// numbers and baseline alone: the same bytes on every machine, in well under a second.
#pragma once

#include <string>

#include "suite/base/json.h"
#include "suite/judge/gate.h"
#include "suite/judge/input.h"

namespace normbench {

/// Judges every claim on every dataset and collects what a reader needs to believe the verdicts or
/// not.
Json judge_table(const JudgeInput& input, const std::string& runs_folder,
                 const std::string& baselines_folder);

/// For a terminal of `width` columns: claims first, then losses, tuned rates, deviations.
std::string ledger_text(const Json& ledger, size_t width = 100);

/// The claim check of CTest. Green for every verdict but NOT_RUN; red when a record, or a trial of
/// arms that are compared at their best rates, is absent, damaged or stale; not run when none of
/// the verdict's own records is there (a skipped device).
CheckResult check_claim(const JudgeInput& input, const std::string& runs_folder,
                        const std::string& claim_id);

}  // namespace normbench
