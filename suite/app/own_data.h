// Data sets that tables train on and that data.json does not have. Whoever runs such a tier brings
// them: their texts or tokenizers are not ours to fetch. data/README.md says what each one is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "suite/app/project.h"

namespace normbench {

struct DatasetToBring {
  std::string name;
  std::map<std::string, std::set<std::string>> tables;  // [tier]: those that train on it
};

/// Of all tables and tiers, sorted by name, prepared or not. Where the tables cannot be read, that
/// is a warning, and an error of `normbench plan`.
std::vector<DatasetToBring> datasets_to_bring(const Project& project);

/// "gpu: simplegpt.lr_stability, simplegpt.placement; paper: simplegpt.placement"
std::string wanted_by(const DatasetToBring& dataset);

/// What to do about data sets that are not there: the command, for all of them.
std::string how_to_bring();

}  // namespace normbench
