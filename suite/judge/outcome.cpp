#include "suite/judge/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "suite/base/errors.h"
#include "suite/base/names.h"

namespace normbench {
namespace {

constexpr std::array<std::pair<Outcome, const char*>, 8> kNames = {{
    {Outcome::kReproduced, "REPRODUCED"},
    {Outcome::kDirectionOnly, "DIRECTION_ONLY"},
    {Outcome::kNotReproduced, "NOT_REPRODUCED"},
    {Outcome::kInconclusive, "INCONCLUSIVE"},
    {Outcome::kBaselineUntuned, "BASELINE_UNTUNED"},
    {Outcome::kOutOfScale, "OUT_OF_SCALE"},
    {Outcome::kMachineUnfit, "MACHINE_UNFIT"},
    {Outcome::kNotRun, "NOT_RUN"},
}};

int rank(Outcome outcome) {
  switch (outcome) {
    case Outcome::kReproduced:
      return 4;
    case Outcome::kDirectionOnly:
      return 3;
    case Outcome::kInconclusive:
      return 2;
    case Outcome::kNotReproduced:
      return 1;
    default:
      return 0;
  }
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

const char* outcome_name(Outcome outcome) {
  for (const auto& [value, name] : kNames)
    if (value == outcome) return name;
  return "?";
}

Outcome outcome_from_name(const std::string& name, const std::string& where) {
  std::vector<std::string> all;
  for (const auto& [value, known] : kNames) {
    if (name == known) return value;
    all.push_back(known);
  }
  throw UserError({.what = "unknown verdict",
                   .where = where,
                   .found = "\"" + name + "\"",
                   .expected = one_of(all),
                   .todo = did_you_mean(name, all)});
}

bool falls_below(Outcome now, Outcome committed) { return rank(now) < rank(committed); }

void Effect::finish(double alpha) {
  if (values.empty()) return;
  mean = normbench::mean(values);
  has_interval = values.size() >= 2;
  if (!has_interval) return;
  s = sample_sd(values);
  p_value = t_test_p(values);
  of_values = interval = t_interval(values, alpha);
  // A pair that is only ">= b" can be anything above b: the mean of the bounds bounds the mean from
  // below, nothing bounds it from above.
  if (bounded_below > 0) interval.high = Interval().high;
  if (bounded_above > 0) interval.low = Interval().low;
}

Outcome decide_superiority(const Effect& effect, double claimed) {
  NORMBENCH_CHECK(claimed > 0, "claimed effect " + std::to_string(claimed));
  if (!effect.has_interval) return Outcome::kInconclusive;
  const auto& losses = effect.equal_budget;
  const bool above = effect.interval.low > 0 && (!effect.open() || (losses && losses->low > 0));
  if (above)
    return effect.of_values.high >= claimed ? Outcome::kReproduced : Outcome::kDirectionOnly;
  // On the first rung of a ladder "worse" is "<= no effect": such bounds say that the size is not
  // the claimed one, and the losses say the direction, whichever it is.
  const bool is_smaller = effect.interval.high < claimed;
  if (effect.open() && losses && losses->low > 0 && is_smaller && effect.s > 0)
    return Outcome::kDirectionOnly;
  const bool below =
      effect.open() ? losses && losses->high < 0 && is_smaller : effect.interval.high < 0;
  return below ? Outcome::kNotReproduced : Outcome::kInconclusive;
}

Outcome decide_within(const Interval& interval, double claimed, double tolerance) {
  const double low = claimed - tolerance, high = claimed + tolerance;
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return Outcome::kInconclusive;
  if (interval.low >= low && interval.high <= high) return Outcome::kReproduced;
  if (interval.low <= high && interval.high >= low) return Outcome::kInconclusive;
  const bool right_side = claimed > 0 ? interval.low > 0 : claimed < 0 && interval.high < 0;
  return right_side ? Outcome::kDirectionOnly : Outcome::kNotReproduced;
}

std::optional<PairsNeeded> more_pairs(const Effect& effect, double claimed, double alpha) {
  const int n = static_cast<int>(effect.values.size());
  const auto pairs = [&](double size, double s, const char* if_true = kAsMeasured) {
    return PairsNeeded{std::max(n + 1, pairs_needed(size, s, alpha)), if_true};
  };
  const auto is_open = [&](double mean) {
    return mean > 0 ? effect.bounded_above > 0 : effect.bounded_below > 0;
  };
  // Bounds that are not all equal, and all on the far side, can exclude the claimed size.
  const bool may_exclude = effect.open() && effect.bounded_below == 0 && effect.s > 0;
  const bool excludes = may_exclude && effect.interval.high < claimed;
  const auto& losses = effect.equal_budget;
  // Bounds have no spread of their own, so that as long as the losses leave the direction open, it
  // is theirs that counts.
  if (effect.open() && effect.equal_budget_values.size() >= 2 && losses && losses->low <= 0 &&
      losses->high >= 0) {
    const double gain = normbench::mean(effect.equal_budget_values);
    if (is_open(gain) && !(gain > 0 && excludes)) return std::nullopt;
    return pairs(gain, sample_sd(effect.equal_budget_values),
                 "the losses at equal budget differ as measured");
  }
  if (may_exclude && losses && losses->low > 0 && effect.mean < claimed)
    return pairs(claimed - effect.mean, effect.s);
  if (is_open(effect.mean)) return std::nullopt;
  if (pairs_needed(claimed, effect.s, alpha) > n &&
      (effect.bounded_below > 0 || effect.of_values.high >= claimed))
    return pairs(claimed, effect.s, "the effect is as large as claimed");
  return pairs(effect.mean, effect.s);
}

Json Verdict::json() const {
  Json json{{"claim", claim},
            {"statement", statement},
            {"conditions", conditions},
            {"rule", rule},
            {"challenger", challenger},
            {"reference", reference},
            {"dataset", dataset},
            {"verdict", outcome_name(outcome)},
            {"statistics_say", outcome_name(statistics_say)},
            {"reason", reason},
            {"paper", paper},
            {"here",
             {{"estimate", or_null(estimate)},
              {"low", or_null(low)},
              {"high", or_null(high)},
              {"unit", unit},
              {"bound", bound}}},
            {"pairs", pairs},
            {"planned_pairs", planned_pairs},
            {"budgets", budgets},
            {"seeds", seeds},
            {"detectable", or_null(detectable)},
            {"pairs_needed", or_null(pairs_needed)},
            {"p_value", or_null(p_value)},
            {"p_holm", or_null(p_holm)},
            {"alone_only", alone_only},
            {"per_budget", per_budget},
            {"seconds", seconds},
            {"paper_estimator", paper_estimator},
            {"smooth", smooth},
            {"trials", trials},
            {"diverged", diverged},
            {"missing", missing},
            {"notes", notes}};
  // Only rules that are not about one pair of arms, or that measure more, have these.
  if (arms != std::vector{challenger, reference}) json["arms"] = arms;
  if (!measurement.empty()) json["measurement"] = measurement;
  if (!detail.is_null()) json["detail"] = detail;
  if (!facts.empty()) json["facts"] = facts;
  return json;
}

}  // namespace normbench
