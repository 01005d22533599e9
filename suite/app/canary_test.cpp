// The canary of every arm of every table is something that models, optimisers and schedules accept:
// a run whose canary cannot be built never starts.
#include <gtest/gtest.h>

#include <set>

#include "suite/base/record_digest.h"
#include "suite/plan/expand.h"
#include "suite/train/trainer.h"

namespace normbench {
namespace {

TEST(Canary, OfEveryArmOfEveryTableAtEveryTierCanBeBuilt) {
  const std::string tables = NORMBENCH_SOURCE_DIR "/suite/tables";
  const Json sizes = read_sizes(tables);
  const Registry registry(NORMBENCH_PROGRAMS "/registry.json");
  const DatasetLookup prepared = [](const std::string&) {
    return DatasetIdentity{.vocabulary = 1024,
                           .train_digest = "t",
                           .validation_digest = "v",
                           .train_tokens = 1 << 24,
                           .validation_tokens = 1 << 30};
  };
  std::set<std::string> arms, built;
  for (const auto& table : read_tables(tables, ""))
    for (const auto& tier : table.tiers)
      for (const auto& run : expand(table, tier, sizes, registry, prepared)) {
        if (!run.task.empty()) continue;
        arms.insert(table.paper + "." + table.name + "." + run.arm);
        Json canary = run.canary;
        canary["device"] = "cpu";
        if (!built.insert(run_id_of(canary)).second) continue;
        try {
          const Training training(read_run_config(canary, "canary of " + run.name));
          EXPECT_GT(training.num_parameters(), 0) << run.name;
        } catch (const std::exception& e) {
          ADD_FAILURE() << run.name << ": " << e.what();
        }
      }
  EXPECT_GT(arms.size(), 50u);
}

}  // namespace
}  // namespace normbench
