// Rule "gap_growth": the challenger's lead grows with training.
//   gap_s(D) = L_ref,s(D) - L_ch,s(D)      nats, seed s
//   of "validation": D = token budgets; growth_s = gap_s(last budget) - gap_s(first budget)
//   of "train":      inside the longest run, L = mean training loss of a window of 5 % of the steps
//                    (at least 5) that ends after D tokens; growth_s = gap_s(end) - gap_s(1/3)
// t intervals over the seeds; a lead that grows must be one: gap_s(end) counts beside the growth.
//   REPRODUCED      the intervals of growth and gap(end) lie above 0 (intersection-union: each must
//                   pass, so no correction is needed), and that of the growth reaches the published
//                   growth, where there is one
//   DIRECTION_ONLY  both lie above 0, the growth ends before the published one
//   NOT_REPRODUCED  one of the two lies below 0 (alpha shared by both)
//   INCONCLUSIVE    otherwise
#include <algorithm>
#include <array>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"

namespace normbench {
namespace {

// Mean training loss of the window that ends at step `end`; infinite when the run diverged before.
double window_loss(const Record& record, size_t end, size_t window) {
  if (record.diverged() && record.step_lines.size() < end) return INFINITY;
  NORMBENCH_CHECK(record.step_lines.size() >= end, record.run.name + " has lost its step lines");
  double sum = 0;
  for (size_t i = end - window; i < end; ++i) sum += number_in_line(record.step_lines[i], "loss");
  return std::isfinite(sum) ? sum / static_cast<double>(window) : INFINITY;
}

// A diverged run has fewer lines than the budget asks for: the finished ones know how many.
size_t planned_steps(const Record& record) {
  const double steps = record.summary.at("steps").get<double>(),
               tokens = record.summary.at("tokens").get<double>();
  return static_cast<size_t>(
      std::llround(static_cast<double>(record.run.token_budget) * steps / tokens));
}

GapLadder train_gaps(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  const auto budgets = evidence.common_budgets(claim.arms, dataset);
  if (budgets.empty()) return {};
  const int64_t longest = budgets.back();
  GapLadder places{{longest / 3, 2 * longest / 3, longest}, {}};
  for (const int64_t seed : evidence.pairs(claim.challenger, claim.reference, dataset)) {
    const Record* a = evidence.find(claim.challenger, dataset, longest, seed);
    const Record* b = evidence.find(claim.reference, dataset, longest, seed);
    if (!a->usable() || !b->usable()) continue;
    std::vector<double> gaps;
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

Outcome decide(const Effect& growth, const Effect& end, double claimed, double alpha) {
  if (gap_reversed(growth, alpha / 2) || gap_reversed(end, alpha / 2))
    return Outcome::kNotReproduced;
  if (!gap_holds(growth) || !gap_holds(end)) return Outcome::kInconclusive;
  return growth.of_values.high >= claimed ? Outcome::kReproduced : Outcome::kDirectionOnly;
}

}  // namespace

Verdict rule_gap_growth(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  const double alpha = evidence.input.alpha;
  const bool train = claim.of == "train";
  const GapLadder places =
      train ? train_gaps(claim, evidence, dataset)
            : validation_gaps(evidence, claim.challenger, claim.reference, dataset);
  Effect growth, end;
  verdict.seeds.clear();
  if (places.tokens.size() >= 2) {
    verdict.budgets = {places.tokens.front(), places.tokens.back()};
    for (size_t i = 0; i < places.tokens.size(); ++i)
      verdict.per_budget.push_back(
          gap_row(places.tokens[i], places.at(i, alpha), i == 0 || i + 1 == places.tokens.size()));
    for (const auto& [seed, gaps] : places.seeds) {
      const double value = gaps.back() - gaps.front();
      take_gap(growth, value);
      if (std::isfinite(value)) verdict.seeds.push_back(seed);
    }
    end = places.at(places.tokens.size() - 1, alpha);
  }
  growth.finish(alpha);
  verdict.pairs = static_cast<int>(growth.values.size());
  verdict.detail = {{"of", claim.of}, {"places", places.tokens}};
  // Without a published growth any growth is the claimed one.
  const double claimed = claim.value ? *claim.value : std::numeric_limits<double>::min();
  verdict.statistics_say = decide(growth, end, claimed, alpha);
  std::string measured;
  if (places.tokens.size() < 2) {
    measured = train ? "The longest run is too short for three windows of 5 steps"
                     : "A growth needs two budgets that both arms have";
  } else if (!growth.has_interval) {
    measured = verdict.statistics_say == Outcome::kInconclusive
                   ? "Fewer than 2 pairs of seeds have all losses, so there is no interval"
                   : "At the first or at the last place every run of one arm diverged, none of the "
                     "other; at the end the lead is " +
                         nats_text(end);
  } else {
    verdict.estimate = growth.mean;
    if (std::isfinite(growth.interval.low)) verdict.low = growth.interval.low;
    if (std::isfinite(growth.interval.high)) verdict.high = growth.interval.high;
    if (!growth.open() && !end.open()) {
      verdict.p_value = p_of_gaps({growth, end}, verdict.statistics_say == Outcome::kNotReproduced);
      verdict.detectable = minimum_detectable_effect(growth.s, verdict.pairs, alpha);
    }
    const auto shared = [&](const Effect& gap) {
      return verdict.statistics_say == Outcome::kInconclusive ? shared_alpha_text(gap, alpha, 2)
                                                              : std::string();
    };
    verdict.facts.push_back("growth " + by_seed_text(growth.values));
    measured = "From " + tokens_text(static_cast<double>(places.tokens.front())) + " to " +
               tokens_text(static_cast<double>(places.tokens.back())) + " tokens the lead in " +
               claim.of + " loss grows by " + nats_text(growth) + shared(growth) + ", to " +
               nats_text(end) + shared(end);
    switch (verdict.statistics_say) {
      case Outcome::kReproduced:
        measured +=
            ": there is a lead, and it grows" +
            (claim.value ? "; the growth reaches the paper's " + fixed(*claim.value, 3) : "");
        break;
      case Outcome::kDirectionOnly:
        measured += ": it grows, and does not reach the paper's " + fixed(*claim.value, 3);
        break;
      case Outcome::kNotReproduced:
        measured += gap_reversed(growth, alpha / 2) ? ": it shrinks"
                                                    : ": the challenger is behind to the end";
        break;
      default:
        std::vector<std::optional<PairsNeeded>> needed;
        if (!gap_holds(growth) && claim.value && growth.mean > 0)
          needed.push_back(more_pairs(growth, claimed, alpha));
        else if (!gap_holds(growth))
          add_pairs_needed(needed, growth, alpha, 2);
        if (!gap_holds(end)) add_pairs_needed(needed, end, alpha, 2);
        measured += gap_holds(growth) ? ": whether there is a lead at the end is not settled"
                                      : ", and the direction is not settled";
        if (claim.value && growth.interval.high < claimed)
          measured += ", though the paper's " + fixed(*claim.value, 3) + " is excluded";
        measured += keep_pairs_needed(verdict, most_pairs(needed));
    }
  }
  measured += ".";
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
