#include "suite/app/own_data.h"

#include "suite/base/log.h"
#include "suite/base/names.h"
#include "suite/base/text.h"

namespace normbench {

std::vector<DatasetToBring> datasets_to_bring(const Project& project) {
  const auto fetched = dataset_names(project);
  std::map<std::string, DatasetToBring> found;
  try {
    for (const auto& table : read_tables(project.tables(), ""))
      for (const auto& tier : table.tiers)
        for (const auto& setting : tier.settings)
          if (!is_one_of(setting.dataset, fetched))
            found[setting.dataset].tables[tier.name].insert(table.paper + "." + table.name);
  } catch (const UserError& e) {
    log_warning(std::string("which data sets the tables want cannot be said: ") + e.what());
    return {};
  }
  std::vector<DatasetToBring> datasets;
  for (const auto& [name, dataset] : found) datasets.push_back({name, dataset.tables});
  return datasets;
}

std::string wanted_by(const DatasetToBring& dataset) {
  std::string text;
  for (const auto& [tier, tables] : dataset.tables) {
    text += (text.empty() ? "" : "; ") + tier + ": " + join({tables.begin(), tables.end()}, ", ");
  }
  return text;
}

std::string how_to_bring() {
  return "data/README.md says what each one is; normbench data prepare --name NAME --vocabulary N "
         "with a source takes it in (--llmc-shards, --nanogpt, --megatron, --text or --jsonl)";
}

}  // namespace normbench
