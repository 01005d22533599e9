// Rule "gap_growth": the challenger's lead grows with training.
//   gap_s(D) = L_ref,s(D) - L_ch,s(D)      nats, seed s
//   of "validation": D = token budgets; growth_s = gap_s(last budget) - gap_s(first budget)
//   of "train":      inside the longest run, L = mean training loss of a window of 5 % of the steps
//                    (at least 5) that ends after D tokens; growth_s = gap_s(end) - gap_s(1/3)
// t interval of the growth over the seeds, against 0 and against the published growth, where the
// claim has one.
#include <algorithm>
#include <array>
#include <cmath>

#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"
#include "suite/judge/text.h"

namespace normbench {
namespace {

// One seed's gap at each place; infinite where a run has diverged by then, NaN where both have.
using Gaps = std::vector<double>;

struct Places {
  std::vector<int64_t> tokens;
  std::vector<std::pair<int64_t, Gaps>> seeds;
};

Places validation_gaps(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Places places{evidence.common_budgets(claim.arms, dataset), {}};
  for (const int64_t seed : evidence.pairs(claim.challenger, claim.reference, dataset)) {
    Gaps gaps;
    for (const int64_t budget : places.tokens) {
      const Record* a = evidence.find(claim.challenger, dataset, budget, seed);
      const Record* b = evidence.find(claim.reference, dataset, budget, seed);
      if (a->usable() && b->usable()) gaps.push_back(b->validation_loss() - a->validation_loss());
    }
    if (gaps.size() == places.tokens.size()) places.seeds.push_back({seed, gaps});
  }
  return places;
}

// Mean training loss of the window that ends at step `end`; infinite when the run diverged before.
double window_loss(const Record& record, size_t end, size_t window) {
  if (record.step_lines.size() < end) return INFINITY;
  double sum = 0;
  for (size_t i = end - window; i < end; ++i) sum += number_in_line(record.step_lines[i], "loss");
  return sum / static_cast<double>(window);
}

// A diverged run has fewer lines than the budget asks for: the finished ones know how many.
size_t planned_steps(const Record& record) {
  const double steps = record.summary.at("steps").get<double>(),
               tokens = record.summary.at("tokens").get<double>();
  return static_cast<size_t>(
      std::llround(static_cast<double>(record.run.token_budget) * steps / tokens));
}

Places train_gaps(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  const auto budgets = evidence.common_budgets(claim.arms, dataset);
  if (budgets.empty()) return {};
  const int64_t longest = budgets.back();
  Places places{{longest / 3, 2 * longest / 3, longest}, {}};
  for (const int64_t seed : evidence.pairs(claim.challenger, claim.reference, dataset)) {
    const Record* a = evidence.find(claim.challenger, dataset, longest, seed);
    const Record* b = evidence.find(claim.reference, dataset, longest, seed);
    if (!a->usable() || !b->usable()) continue;
    Gaps gaps;
    for (size_t third = 1; third <= 3; ++third) {
      std::array<double, 2> loss{};
      size_t i = 0;
      for (const Record* record : {a, b}) {
        const size_t steps = planned_steps(*record), end = steps * third / 3;
        const size_t window = std::max<size_t>(5, steps / 20);
        if (end < window) return {};
        loss[i++] = window_loss(*record, end, window);
      }
      gaps.push_back(loss[1] - loss[0]);
    }
    places.seeds.push_back({seed, gaps});
  }
  return places;
}

// An infinite value bounds nothing by itself: it opens the interval of the others on its side.
void take(Effect& effect, double value) {
  if (std::isfinite(value))
    effect.values.push_back(value);
  else if (std::isnan(value))
    ++effect.bounded_above, ++effect.bounded_below;
  else
    ++(value > 0 ? effect.bounded_below : effect.bounded_above);
}

Json end_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(); }

}  // namespace

Verdict rule_gap_growth(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  const double alpha = evidence.input.alpha;
  const bool train = claim.of == "train";
  const Places places =
      train ? train_gaps(claim, evidence, dataset) : validation_gaps(claim, evidence, dataset);
  Effect growth;
  verdict.seeds.clear();
  if (places.tokens.size() >= 2) {
    verdict.budgets = {places.tokens.front(), places.tokens.back()};
    for (size_t i = 0; i < places.tokens.size(); ++i) {
      Effect gap;
      for (const auto& [seed, gaps] : places.seeds) take(gap, gaps[i]);
      gap.finish(alpha);
      verdict.per_budget.push_back({{"budget", places.tokens[i]},
                                    {"counts", i == 0 || i + 1 == places.tokens.size()},
                                    {"n", gap.values.size()},
                                    {"bound", ""},
                                    {"estimate", gap.values.empty() ? Json() : Json(gap.mean)},
                                    {"low", end_or_null(gap.interval.low)},
                                    {"high", end_or_null(gap.interval.high)}});
    }
    for (const auto& [seed, gaps] : places.seeds) {
      const double value = gaps.back() - gaps.front();
      take(growth, value);
      if (std::isfinite(value)) verdict.seeds.push_back(seed);
    }
  }
  growth.finish(alpha);
  verdict.pairs = static_cast<int>(growth.values.size());
  verdict.detail = {{"of", claim.of}, {"places", places.tokens}};
  // Without a published growth any growth is the claimed one.
  const double claimed = claim.value ? *claim.value : std::numeric_limits<double>::min();
  verdict.statistics_say = decide_superiority(growth, claimed);
  std::string measured;
  if (places.tokens.size() < 2) {
    measured = train ? "The longest run is too short for three windows of 5 steps"
                     : "A growth needs two budgets that both arms have";
  } else if (!growth.has_interval) {
    measured = "Fewer than 2 pairs of seeds have all losses, so there is no interval";
  } else {
    verdict.estimate = growth.mean;
    if (std::isfinite(growth.interval.low)) verdict.low = growth.interval.low;
    if (std::isfinite(growth.interval.high)) verdict.high = growth.interval.high;
    verdict.p_value = growth.p_value;
    verdict.detectable = minimum_detectable_effect(growth.s, verdict.pairs, alpha);
    measured = "From " + tokens_text(static_cast<double>(places.tokens.front())) + " to " +
               tokens_text(static_cast<double>(places.tokens.back())) + " tokens the lead in " +
               claim.of + " loss grows by " + nats_text(growth);
    switch (verdict.statistics_say) {
      case Outcome::kReproduced:
        measured += ", which excludes none" +
                    (claim.value ? " and reaches the paper's " + fixed(*claim.value, 3) : "");
        break;
      case Outcome::kDirectionOnly:
        measured += ": it grows, the paper's " + fixed(*claim.value, 3) + " is outside";
        break;
      case Outcome::kNotReproduced:
        measured += ": it shrinks";
        break;
      default:
        verdict.pairs_needed =
            more_pairs(growth, claim.value ? claimed : std::abs(growth.mean), alpha);
        measured += ", and the direction is not settled" + pairs_needed_text(*verdict.pairs_needed);
    }
  }
  measured += ".";
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
