#include "suite/plan/table_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "suite/base/names.h"

namespace normbench {
namespace {

using Names = std::vector<std::string>;

/// For rates and limits; infinity and NaN cannot come from a file.
void require_positive(const JsonObject& object, const std::string& key, const std::string& what,
                      double value) {
  if (!(value > 0)) object.fail(key, what, Json(value).dump(), "a number above 0");
}

template <class T>
void require_each_once(const JsonObject& object, const std::string& key, const std::string& what,
                       const std::vector<T>& list) {
  if (list.empty()) object.fail(key, "an empty list", "[]", "one " + what + " or more");
  std::set<T> seen;
  for (const auto& item : list)
    if (!seen.insert(item).second)
      object.fail(key, "a " + what + " stands twice in a list", Json(item).dump(), "each once");
}

Names arm_names(const Table& table) {
  Names names;
  for (const auto& arm : table.arms) names.push_back(arm.name);
  return names;
}

Names tier_names(const Table& table) {
  Names names;
  for (const auto& tier : table.tiers) names.push_back(tier.name);
  return names;
}

/// More than any run will train on, and little enough that no product of two counts overflows.
constexpr int64_t kMostTokens = 1'000'000'000'000'000;
/// The loss of a slice of this size has no noise left, and it is read for every run.
constexpr int64_t kMostValidationTokens = 1'000'000'000;

int64_t batch_of(const Setting& s, const std::string& arm) {
  const auto own = s.arm_batch_sequences.find(arm);
  return own == s.arm_batch_sequences.end() ? s.batch_sequences : own->second;
}

void check_budget(const JsonObject& o, const std::string& key, int64_t budget, int64_t batch,
                  int64_t context) {
  const int64_t step_tokens = batch * context;
  if (budget > kMostTokens)
    o.fail(key, "a token budget that nobody can train", std::to_string(budget),
           "at most " + std::to_string(kMostTokens));
  if (budget < 1) o.fail(key, "not a token budget", std::to_string(budget), "1 step or more");
  if (budget % step_tokens == 0) return;
  const int64_t below = budget / step_tokens * step_tokens;
  o.fail(key, "a token budget is not divisible by the tokens of a step", std::to_string(budget),
         "a multiple of " + std::to_string(batch) + " sequences x " + std::to_string(context) +
             " tokens = " + std::to_string(step_tokens),
         "the nearest ones are " + std::to_string(below) + " and " +
             std::to_string(below + step_tokens));
}

/// An arm with a batch of its own trains in micro-batches of the setting's, or in one of its own.
void check_batch(const JsonObject& o, const std::string& key, int64_t batch, int64_t micro) {
  if (batch > 0 && batch % std::min(batch, micro) == 0) return;
  o.fail(key, "a batch is not a whole number of micro-batches",
         std::to_string(batch) + " and " + std::to_string(micro),
         "less than " + std::to_string(micro) + ", or a multiple of it");
}

void check_step(const JsonObject& o, const std::string& key, int64_t batch, int64_t context) {
  if (batch <= kMostTokens / context) return;
  o.fail(key, "a step of more tokens than any run has",
         std::to_string(batch) + " sequences x " + std::to_string(context) + " tokens",
         "at most " + std::to_string(kMostTokens) + " tokens");
}

void check_rates(const JsonObject& o, const Setting& s) {
  for (const auto& [arm, rates] : s.peak_lr) {
    const std::string key = "peak_lr/" + arm;
    std::vector<int64_t> budgets;
    for (const auto& [budget, rate] : rates) {
      if (budget <= 0) o.fail(key, "not a token budget", std::to_string(budget), "above 0");
      require_positive(o, key, "a learning rate must be positive", rate);
      budgets.push_back(budget);
    }
    require_each_once(o, key, "token budget", budgets);
  }
}

/// As "5 at 1048576 tokens, 3 at 4194304 tokens".
std::string trials_of(const std::map<int64_t, std::vector<double>>& budgets) {
  std::string trials;
  for (const auto& [budget, rates] : budgets)
    trials += (trials.empty() ? "" : ", ") + std::to_string(rates.size()) + " at " +
              std::to_string(budget) + " tokens";
  return trials;
}

void check_sweep(const JsonObject& o, const Setting& s, const Names& arms, int64_t context) {
  if (!o.has("sweep")) return;
  check_seeds(o, "sweep/seeds", s.sweep.seeds);
  if (s.sweep.grid.empty()) o.fail("sweep/grid", "a sweep of nothing", "{}", "an arm or more");
  const auto& [first, fair] = *s.sweep.grid.begin();
  for (const auto& [arm, budgets] : s.sweep.grid) {
    require_known(o, "sweep/grid", "no such arm", arm, arms);
    if (trials_of(budgets) != trials_of(fair))
      o.fail("sweep/grid/" + arm, "arms with unequal numbers of trials",
             trials_of(budgets) + "; " + first + " has " + trials_of(fair),
             "as many rates for every arm at every budget: the better tuned one would win");
    for (const auto& [budget, rates] : budgets) {
      const std::string key = "sweep/grid/" + arm + "/" + std::to_string(budget);
      check_budget(o, key, budget, batch_of(s, arm), context);
      require_each_once(o, key, "learning rate", rates);
      for (const double rate : rates)
        require_positive(o, key, "a learning rate must be positive", rate);
    }
  }
  for (const int64_t seed : s.sweep.seeds)
    if (std::find(s.seeds.begin(), s.seeds.end(), seed) != s.seeds.end())
      o.fail("sweep/seeds", "a seed of the sweep is also a seed of the verdict",
             std::to_string(seed), "disjoint seeds: a rate chosen on a seed flatters that seed");
}

void check_verdict_runs(const JsonObject& o, const Setting& s, int64_t context) {
  if (!o.has("token_budgets")) return;  // a sweep alone
  // Before the sweep has run there are no rates yet, and then it is what this setting trains.
  if (s.peak_lr.empty() && (o.has("peak_lr") || s.sweep.grid.empty()))
    o.fail("peak_lr", "no arm has a learning rate, so that none is trained", "{}",
           "an arm or more; left out until `normbench tune` writes it");
  check_seeds(o, "seeds", s.seeds);
  require_each_once(o, "token_budgets", "token budget", s.token_budgets);
  if (!std::is_sorted(s.token_budgets.begin(), s.token_budgets.end()))
    o.fail("token_budgets", "the ladder is not in rising order");
  for (const auto& rates : s.peak_lr)
    for (const int64_t budget : s.token_budgets)
      check_budget(o, "token_budgets", budget, batch_of(s, rates.first), context);
}

/// Names of settings that a claim may be about: those of the tiers that judge it.
Names settings_of(const Table& table, const Names& tiers) {
  Names names;
  for (const auto& tier : table.tiers)
    if (tiers.empty() || std::find(tiers.begin(), tiers.end(), tier.name) != tiers.end())
      for (const auto& setting : tier.settings) names.push_back(setting.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Names list_of_tiers(const JsonObject& object, const Table& table) {
  const auto tiers = object.required<Names>("tiers");
  require_each_once(object, "tiers", "tier", tiers);
  for (const auto& tier : tiers)
    require_known(object, "tiers", "this table has no such tier", tier, tier_names(table));
  return tiers;
}

bool trains(const Tier& tier, const std::string& arm, const Names& settings) {
  return std::any_of(tier.settings.begin(), tier.settings.end(), [&](const Setting& s) {
    const bool meant =
        settings.empty() || std::find(settings.begin(), settings.end(), s.name) != settings.end();
    return meant && (s.peak_lr.contains(arm) || s.sweep.grid.contains(arm));
  });
}

bool has_setting_of(const Tier& tier, const Names& settings) {
  return std::any_of(tier.settings.begin(), tier.settings.end(), [&](const Setting& s) {
    return std::find(settings.begin(), settings.end(), s.name) != settings.end();
  });
}

bool measures(const Tier& tier, const std::string& measurement) {
  return std::any_of(tier.measurements.begin(), tier.measurements.end(),
                     [&](const PlannedMeasurement& m) { return m.name == measurement; });
}

/// In a tier that trains none of an arm's runs its claim could never be judged. `settings`: those
/// that the claim is about; empty: all.
void check_runs_of_claim(const JsonObject& claim, const Table& table, const Names& tiers,
                         const Names& settings) {
  std::vector<std::pair<std::string, std::string>> named;  // key, arm
  for (const char* role : {"challenger", "reference", "arm"})
    if (claim.has(role)) named.emplace_back(role, claim.required<std::string>(role));
  if (claim.has("arms"))
    for (const auto& arm : claim.required<Names>("arms")) named.emplace_back("arms", arm);
  const auto measurement = claim.optional<std::string>("measurement", "");
  for (const auto& tier : table.tiers) {
    if (!tiers.empty() && std::find(tiers.begin(), tiers.end(), tier.name) == tiers.end()) continue;
    if (!settings.empty() && !has_setting_of(tier, settings)) continue;  // about another tier's
    const std::string todo =
        "say in which \"tiers\" the claim is judged, or plan the runs in tier " + tier.name;
    for (const auto& [key, arm] : named)
      if (!trains(tier, arm, settings))
        claim.fail(key, "tier " + tier.name + " judges the claim and never trains its arm",
                   "\"" + arm + "\"", "an arm with a rate or a sweep there", todo);
    if (!measurement.empty() && !measures(tier, measurement))
      claim.fail("measurement", "tier " + tier.name + " judges the claim and never measures it",
                 "\"" + measurement + "\"", "a measurement of that tier", todo);
  }
}

void check_claim(const JsonObject& claim, const Table& table) {
  const Names arms = arm_names(table);
  for (const char* role : {"challenger", "reference", "arm"})
    if (claim.has(role))
      require_known(claim, role, "no such arm", claim.required<std::string>(role), arms);
  if (claim.has("arms"))
    for (const auto& arm : claim.required<Names>("arms"))
      require_known(claim, "arms", "no such arm", arm, arms);
  if (claim.has("challenger") && claim.has("reference") &&
      claim.raw("challenger") == claim.raw("reference"))
    claim.fail("reference", "a claim compares an arm with itself", claim.raw("reference").dump(),
               "another arm than the challenger");
  if (claim.has("measurement")) table.measurement(claim.required<std::string>("measurement"));
  Names tiers, settings;
  if (claim.has("tiers")) tiers = list_of_tiers(claim, table);
  if (claim.has("datasets")) {
    settings = claim.required<Names>("datasets");
    require_each_once(claim, "datasets", "setting", settings);
    for (const auto& setting : settings)
      require_known(claim, "datasets", "no such setting in the tiers of this claim", setting,
                    settings_of(table, tiers));
  }
  if (claim.has("out_of_scale") && claim.raw("out_of_scale").is_object())
    list_of_tiers(claim.object("out_of_scale"), table);
  check_runs_of_claim(claim, table, tiers, settings);
}

}  // namespace

void check_name(const JsonObject& object, const std::string& key, const std::string& name) {
  if (!is_plain_name(name)) object.fail(key, "not a name", "\"" + name + "\"", kPlainName);
}

void check_seeds(const JsonObject& object, const std::string& key,
                 const std::vector<int64_t>& seeds) {
  require_each_once(object, key, "seed", seeds);
  for (const int64_t seed : seeds)
    if (seed < 0) object.fail(key, "not a seed", std::to_string(seed), "0 or more");
}

/// Of a tier or of a setting.
void check_noise(const JsonObject& o) {
  if (!o.has("noise")) return;
  const JsonObject noise = o.object("noise");
  for (const char* key : {"loss_sd", "slope_nats_per_doubling"})
    require_positive(noise, key, "nothing can be computed from it", noise.required<double>(key));
  noise.required<std::string>("source");
  noise.finish();
}

void check_setting(const JsonObject& o, const Setting& s, const Table& table, const Json& sizes) {
  check_name(o, "", s.name);
  check_name(o, "dataset", s.dataset);
  check_noise(o);
  Names known_sizes;
  for (const auto& item : sizes.items()) known_sizes.push_back(item.key());
  require_known(o, "size", "no such size in sizes.json", s.size, known_sizes);
  const int64_t context = sizes[s.size]["context"].get<int64_t>();
  for (const auto& [key, sequences] : {std::pair("batch_sequences", s.batch_sequences),
                                       std::pair("micro_batch_sequences", s.micro_batch_sequences)})
    if (sequences < 1)
      o.fail(key, "a batch without a sequence", std::to_string(sequences), "1 or more");
  if (s.batch_sequences % s.micro_batch_sequences != 0)
    o.fail("micro_batch_sequences", "a batch is not a whole number of micro-batches",
           std::to_string(s.batch_sequences) + " and " + std::to_string(s.micro_batch_sequences),
           "a divisor of " + std::to_string(s.batch_sequences));
  check_step(o, "batch_sequences", s.batch_sequences, context);
  if (s.validation_tokens > kMostValidationTokens)
    o.fail("validation_tokens", "more than a slice that is read after every run",
           std::to_string(s.validation_tokens), "at most " + std::to_string(kMostValidationTokens));
  if (s.validation_tokens <= 0 || s.validation_tokens % context != 0)
    o.fail("validation_tokens", "not a number of whole contexts",
           std::to_string(s.validation_tokens), std::to_string(context) + " or a multiple of it");
  require_positive(o, "clip_norm", "a clipping norm must be positive", s.clip_norm);
  require_positive(o, "divergence_loss_above", "a limit that every loss exceeds",
                   s.divergence_loss_above);
  const Names arms = arm_names(table);
  for (const auto& [arm, batch] : s.arm_batch_sequences) {
    require_known(o, "arm_batch_sequences", "no such arm", arm, arms);
    check_batch(o, "arm_batch_sequences/" + arm, batch, s.micro_batch_sequences);
    check_step(o, "arm_batch_sequences/" + arm, batch, context);
  }
  for (const auto& item : s.peak_lr) require_known(o, "peak_lr", "no such arm", item.first, arms);
  check_rates(o, s);
  check_sweep(o, s, arms, context);
  check_verdict_runs(o, s, context);
}

void check_tier(const JsonObject& o, const Tier& tier, const Table& table) {
  require_known(o, "device", "unknown device", tier.device, {"cpu", "cuda"});
  require_known(o, "precision", "unknown precision", tier.precision, {"fp32", "bf16-mixed"});
  if (tier.threads < 1 || tier.threads > 1024)  // more than a machine of these tiers has
    o.fail("threads", "at least one thread is needed, and not more than a machine has",
           std::to_string(tier.threads), "1 to 1024");
  if (tier.settings.empty() && tier.measurements.empty())
    o.fail("settings", "a tier that runs nothing", "{}", "a setting or a measurement");
  if (o.has("untuned_arms")) require_each_once(o, "untuned_arms", "arm", tier.untuned_arms);
  for (const auto& arm : tier.untuned_arms)
    require_known(o, "untuned_arms", "no such arm", arm, arm_names(table));
  if (!tier.untuned_arms.empty() && tier.peak_lr_source.empty())
    o.fail("untuned_arms", "rates that nobody tuned, and no word about where they come from", "",
           "peak_lr_source beside it");
  check_noise(o);
}

void check_claims(const JsonObject& object, const Table& table) {
  object.for_each_element("claims", [&](const JsonObject& claim) { check_claim(claim, table); });
}

void check_texts(const JsonObject& object) {
  const auto texts = [](const JsonObject& o, const Names& keys) {
    for (const auto& key : keys) o.required<std::string>(key);
    o.finish();
  };
  texts(object.object("source"), {"paper", "where", "values"});
  object.for_each_element("deviations", [&](const JsonObject& deviation) {
    texts(deviation, {"what", "paper", "here", "why"});
  });
  object.for_each_element("not_tested", [&](const JsonObject& omitted) {
    texts(omitted, {"what", "why"});
  });
}

}  // namespace normbench
