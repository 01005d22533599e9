// One table of a paper, read strictly from suite/tables/<paper>/<table>.json. docs/formats.md has a
// page on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// A recipe: what is trained, whatever the size and the text.
struct Arm {
  std::string name, label, note;
  std::string warning;  // not empty: shown as a warning row, never part of a verdict
  std::string model, optimizer, schedule;
  Json model_options, optimizer_options, schedule_options;
  std::vector<std::string> probes;  // what is looked at after training (docs/formats.md)
};

/// What is measured without training: a task of the worker with its options.
struct Measurement {
  std::string name, label, note, task;
  Json options;
};

/// A measurement in a tier: once a seed, with the tier's options laid over the measurement's own.
struct PlannedMeasurement {
  std::string name;
  std::vector<int64_t> seeds;
  Json options;
};

/// Learning-rate trials of one arm: [budget] -> rates.
struct Sweep {
  std::vector<int64_t> seeds;
  std::map<std::string, std::map<int64_t, std::vector<double>>> grid;  // [arm][budget]
};

/// One size on one data set: an independent comparison inside a tier. Without verdict runs
/// (`token_budgets` empty) the sweep itself is what claims are about.
struct Setting {
  std::string name, dataset, size;
  int64_t batch_sequences = 0, micro_batch_sequences = 0, validation_tokens = 0;
  std::map<std::string, int64_t>
      arm_batch_sequences;  // arms that the paper trained with their own batch
  std::vector<int64_t> token_budgets, seeds;
  double clip_norm = 1.0, divergence_loss_above = 0;
  std::map<std::string, std::vector<std::pair<int64_t, double>>>
      peak_lr;  // [arm], sorted by budget
  Sweep sweep;
  Json noise;  // that of this text and size, where it is not the tier's; may be null
};

struct Tier {
  std::string name, note, device, precision;
  int64_t threads = 1;
  Json noise;  // measured seed noise and slope, for the power statement; may be null
  std::string peak_lr_source;             // where the rates of a tier without a sweep come from
  std::vector<std::string> untuned_arms;  // those whose rates nobody has tuned for it
  std::vector<Setting> settings;
  std::vector<PlannedMeasurement> measurements;
};

struct Table {
  std::string paper, name, file, title, note;
  std::string yardstick;  // the arm that the ledger measures the others by; may be empty
  Json source, claims, deviations, not_tested;
  std::vector<Arm> arms;
  std::vector<Measurement> measurements;
  std::vector<Tier> tiers;

  const Arm& arm(const std::string& name) const;
  const Measurement& measurement(const std::string& name) const;
  /// nullptr when the table has no such tier.
  const Tier* tier(const std::string& name) const;
};

inline const std::vector<std::string> kTierNames = {"smoke", "cpu", "gpu", "paper"};

/// Throws UserError on anything a run could trip over later: unknown arm, budget not divisible by
/// the batch, a verdict seed that the sweep uses, an arm without a learning rate.
Table read_table(const std::string& file, const Json& sizes);

struct TableFile {
  std::string paper, name, path;  // name: "angpt.convergence"
};
/// The files of all tables below `folder`, sorted by paper and name, none of them read. Throws
/// UserError on a paper or table whose name cannot be part of a run's, and on a stray file or
/// folder.
std::vector<TableFile> table_files(const std::string& folder);

/// Every table below `folder` (suite/tables), sorted by paper and name. `only`: "" for all, "angpt"
/// or "angpt.convergence". Throws UserError when nothing matches, with the nearest name.
std::vector<Table> read_tables(const std::string& folder, const std::string& only);

/// The "sizes" object of suite/tables/sizes.json, checked.
Json read_sizes(const std::string& folder);

/// The rate of an arm at a budget: a tuned one, or between two tuned budgets linear in (log budget,
/// log rate). A single tuned rate holds at every budget. Throws UserError outside the tuned range.
double peak_lr_at(const Setting& setting, const std::string& arm, int64_t token_budget,
                  const std::string& file);

}  // namespace normbench
