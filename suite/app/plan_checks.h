// What a table may get wrong that neither its reader nor the registry of options sees, because it
// takes the data sets, the schedules and the rules of claims together. It is found before anything
// runs.
#pragma once

#include <string>
#include <vector>

#include "suite/app/project.h"

namespace normbench {

/// Throws UserError, with the table's file and path, on:
///   a data set that is neither in data.json (`datasets`) nor prepared. The tiers gpu and paper
///   train on token shards that people bring, so that there only a name near a known one is
///   refused; schedule options that do not fit a run: a warm-up of 1.5 of it; a pattern of layers
///   that is empty or has an unknown letter; a claim with an unknown rule, key or published number;
///   a crossing on one budget.
void check_planned(const Project& project, const PlannedTier& planned,
                   const std::vector<std::string>& datasets);

}  // namespace normbench
