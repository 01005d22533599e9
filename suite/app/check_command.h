#pragma once

#include "suite/app/judge_command.h"

namespace normbench {

/// One check of one table and tier: a claim (`request.claim`), or an arm against its committed
/// baseline. Records of another build are red, whatever was run before: canaries that are not known
/// are run first. Exit code 1 when it is red; 77 for a claim without any record, and for a
/// regression that has nothing to compare: a GPU tier without a GPU and without records, or, above
/// the smoke tier, no baseline.
int check_command(const Project& project, const PlannedTier& planned, const JudgeCommand& request);

/// Called where a tier would be skipped. Throws MachineError where $NORMBENCH_REQUIRE (required.h)
/// asks for what is missing.
void refuse_to_skip(const Project& project, const PlannedTier& planned);

}  // namespace normbench
