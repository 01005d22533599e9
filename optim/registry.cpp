// Every optimiser, one line each, sorted by name.
#include "optim/adamw.h"
#include "optim/optimizer.h"

namespace normbench {

namespace {

template <class Algorithm, class Options>
OptimizerEntry entry(const std::string& name, const std::string& paper) {
  return {name, paper, options_json(Options{}),
          [](std::vector<ParameterGroup> groups,
             const JsonObject& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Algorithm>(std::move(groups), read_options<Options>(options));
          }};
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_registry() {
  static const std::vector<OptimizerEntry> entries = {
      entry<AdamW, AdamWOptions>("adamw", "arXiv 1711.05101, Algorithm 2"),
  };
  return entries;
}

const OptimizerEntry& find_optimizer(const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& entry : optimizer_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
    all += (all.empty() ? "" : ", ") + entry.name;
  }
  const std::string near = nearest(name, names);
  throw UserError({.what = "unknown optimiser",
                   .where = "optimizer",
                   .found = "\"" + name + "\"",
                   .expected = "one of: " + all,
                   .todo = near.empty() ? "" : "did you mean \"" + near + "\"?"});
}

}  // namespace normbench
