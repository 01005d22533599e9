// Every optimiser, one line each, sorted by name.
#include "optim/adamw.h"
#include "optim/angular_cap.h"
#include "optim/gated_adamw.h"
#include "optim/muon.h"
#include "optim/optimizer.h"
#include "suite/base/find_entry.h"

namespace normbench {

namespace {

template <class Algorithm, class Options>
OptimizerEntry entry(const std::string& name, const std::string& paper) {
  return {name,
          paper,
          options_json(Options{}),
          added_options<Options>(),
          option_limits<Options>(),
          [](std::vector<ParameterGroup> groups,
             const JsonObject& options) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Algorithm>(std::move(groups), read_options<Options>(options));
          }};
}

template <class Options>
struct CappedOptions {
  Options update;
  AngularCapOptions cap;

  template <class Visitor>
  void fields(Visitor& v) {
    update.fields(v);
    cap.fields(v);
  }
};

/// The same algorithm under the angular cap: its options and those of angular_cap.h, side by side.
template <class Algorithm, class Options>
OptimizerEntry capped(const std::string& name, const std::string& paper) {
  return {name,
          paper,
          options_json(CappedOptions<Options>{}),
          added_options<CappedOptions<Options>>(),
          option_limits<CappedOptions<Options>>(),
          [](std::vector<ParameterGroup> groups,
             const JsonObject& object) -> std::unique_ptr<Optimizer> {
            const auto options = read_options<CappedOptions<Options>>(object);
            return std::make_unique<AngularCap>(std::make_unique<Algorithm>(groups, options.update),
                                                groups, options.cap);
          }};
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_registry() {
  static const std::vector<OptimizerEntry> entries = {
      entry<AdamW, AdamWOptions>("adamw", "arXiv 1711.05101, Algorithm 2"),
      capped<AdamW, AdamWOptions>("adamw_capped", "arXiv 2608.01284, AngularStepCap"),
      entry<GatedAdamW, GatedAdamWOptions>("gated_adamw", "arXiv 2608.01284, GatedAdamW"),
      capped<GatedAdamW, GatedAdamWOptions>("gated_adamw_capped",
                                            "arXiv 2608.01284, GatedAdamW and AngularStepCap"),
      entry<Muon, MuonOptions>("muon", "Jordan et al. 2024; scale of arXiv 2502.16982"),
  };
  return entries;
}

const OptimizerEntry& find_optimizer(const std::string& name) {
  return find_entry(optimizer_registry(), name, "optimiser", "optimizer");
}

}  // namespace normbench
