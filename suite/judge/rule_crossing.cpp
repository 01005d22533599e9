// Rule "crossing": the challenger is behind at the first budget and ahead at the last one.
//   gap_s(D) = L_ref,s(D) - L_ch,s(D)      nats, seed s, common budgets D_1 < ... < D_m
//   REPRODUCED      the interval of gap(D_1) lies below 0 and that of gap(D_m) above 0
//                   (intersection-union: each must pass, so no correction is needed)
//   NOT_REPRODUCED  that of gap(D_1) lies above 0, or that of gap(D_m) below 0 (alpha shared by the
//                   two)
//   INCONCLUSIVE    otherwise
// Where the lead changes: with i the last budget at which seed s is behind, gap_s(D_i) < 0,
//   ln D*_s = ln D_i + (ln D_i+1 - ln D_i) gap_s(D_i) / (gap_s(D_i) - gap_s(D_i+1))
// t interval of ln D* over the seeds, shown as exp() of it. A seed that is behind at the end has
// D* >= D_m, one that is never behind D* <= D_1: it enters with that bound and opens the interval
// on its side. A run that diverged beside the crossing leaves the place open: that seed opens both
// sides and has no value.
#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"

namespace normbench {
namespace {

struct Crossing {
  std::optional<double> log_tokens;
  bool at_least = false, at_most = false;
};

Crossing crossing_of(const std::vector<int64_t>& tokens, const std::vector<double>& gaps) {
  const auto log_tokens = [&](size_t i) { return std::log(static_cast<double>(tokens[i])); };
  if (std::any_of(gaps.begin(), gaps.end(), [](double gap) { return std::isnan(gap); }))
    return {.log_tokens = {}, .at_least = true, .at_most = true};
  const auto after = std::find_if(gaps.rbegin(), gaps.rend(), [](double gap) { return gap < 0; });
  const auto next =
      static_cast<size_t>(gaps.rend() - after);  // the first budget after the last behind
  if (next == 0) return {.log_tokens = log_tokens(0), .at_most = true};
  if (next == gaps.size()) return {.log_tokens = log_tokens(next - 1), .at_least = true};
  const double behind = gaps[next - 1], ahead = gaps[next];
  if (!std::isfinite(behind) || !std::isfinite(ahead))
    return {.log_tokens = {}, .at_least = true, .at_most = true};
  const double from = log_tokens(next - 1), to = log_tokens(next);
  return {.log_tokens = from + (to - from) * behind / (behind - ahead)};
}

std::string crossing_text(const Crossing& crossing) {
  if (!crossing.log_tokens) return "a run diverged beside the crossing";
  const std::string tokens = tokens_text(std::exp(*crossing.log_tokens));
  return crossing.at_least  ? "behind to the end, " + tokens
         : crossing.at_most ? "never behind"
                            : "crosses at " + tokens;
}

std::string bound_of(const Effect& places) {
  if (places.bounded_below > 0) return places.bounded_above > 0 ? "open" : ">=";
  return places.bounded_above > 0 ? "<=" : "";
}

Effect negated(Effect effect, double alpha) {
  for (double& value : effect.values) value = -value;
  std::swap(effect.bounded_below, effect.bounded_above);
  effect.finish(alpha);
  return effect;
}

// D* of every seed into the verdict, and the end of the sentence about it.
std::string report_crossings(const GapLadder& ladder, double alpha, Verdict& verdict) {
  Effect places;
  size_t without = 0;
  verdict.detail = {{"by_seed", Json::array()}};
  for (const auto& [seed, gaps] : ladder.seeds) {
    const Crossing crossing = crossing_of(ladder.tokens, gaps);
    if (crossing.log_tokens) places.values.push_back(*crossing.log_tokens);
    places.bounded_below += crossing.at_least;
    places.bounded_above += crossing.at_most;
    without += crossing.at_least || crossing.at_most;
    verdict.facts.push_back("seed " + std::to_string(seed) + ": " + crossing_text(crossing));
    verdict.detail["by_seed"].push_back(
        {{"seed", seed},
         {"tokens", crossing.log_tokens ? Json(std::exp(*crossing.log_tokens)) : Json()},
         {"at_least", crossing.at_least},
         {"at_most", crossing.at_most}});
  }
  places.finish(alpha);
  if (places.values.empty()) return "no seed shows a crossing";
  verdict.estimate = std::exp(places.mean);
  verdict.bound = bound_of(places);
  if (std::isfinite(places.interval.low)) verdict.low = std::exp(places.interval.low);
  if (std::isfinite(places.interval.high)) verdict.high = std::exp(places.interval.high);
  const auto end = [](const std::optional<double>& x) {
    return x ? tokens_text(*x) : std::string("open");
  };
  std::string text = "seed by seed the lead changes at " +
                     (verdict.bound == "open" ? "about " : verdict.bound) +
                     tokens_text(*verdict.estimate) + " tokens (interval " + end(verdict.low) +
                     " .. " + end(verdict.high) + ")";
  if (without > 0)
    text += "; " + std::to_string(without) + " of " + count_text(ladder.seeds.size(), "seed") +
            (without == 1 ? " has" : " have") + " no crossing inside the ladder";
  return text;
}

}  // namespace

Verdict rule_crossing(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "tokens";
  verdict.statistics_say = Outcome::kInconclusive;
  const double alpha = evidence.input.alpha;
  const GapLadder ladder = validation_gaps(evidence, claim.challenger, claim.reference, dataset);
  if (ladder.tokens.size() < 2) {
    finish_verdict(verdict, claim, evidence, "A crossing needs two budgets that both arms have.");
    return verdict;
  }
  const size_t last = ladder.tokens.size() - 1;
  verdict.budgets = {ladder.tokens.front(), ladder.tokens.back()};
  verdict.seeds.clear();
  for (const auto& [seed, gaps] : ladder.seeds) verdict.seeds.push_back(seed);
  for (size_t i = 0; i <= last; ++i) {
    Json row = gap_row(ladder.tokens[i], ladder.at(i, alpha), i == 0 || i == last);
    row["unit"] = "nats";  // a lead; the verdict's own numbers are tokens
    verdict.per_budget.push_back(row);
  }
  const Effect first = ladder.at(0, alpha), behind = negated(first, alpha),
               ahead = ladder.at(last, alpha);
  verdict.pairs = static_cast<int>(std::min(first.values.size(), ahead.values.size()));
  const bool reversed = gap_reversed(behind, alpha / 2) || gap_reversed(ahead, alpha / 2);
  const std::string where = report_crossings(ladder, alpha, verdict);
  if (behind.has_interval && ahead.has_interval && !behind.open() && !ahead.open())
    verdict.p_value = p_of_gaps({behind, ahead}, reversed);

  const auto shared = [&](const Effect& side, double sign) {
    return reversed ? std::string() : shared_alpha_text(side, alpha, 2, sign);
  };
  std::string measured = "The lead is " + nats_text(first) + shared(behind, -1) + " at " +
                         tokens_text(static_cast<double>(ladder.tokens.front())) + " tokens and " +
                         nats_text(ahead) + shared(ahead, 1) + " at " +
                         tokens_text(static_cast<double>(ladder.tokens.back()));
  if (reversed) {
    verdict.statistics_say = Outcome::kNotReproduced;
    measured += gap_reversed(behind, alpha / 2) ? ": ahead from the first budget on"
                                                : ": behind to the last budget";
  } else if (gap_holds(behind) && gap_holds(ahead)) {
    verdict.statistics_say = Outcome::kReproduced;
    measured += ": behind first, ahead at the end";
  } else {
    measured += ": not both ends are settled";
    std::vector<std::optional<PairsNeeded>> needed;
    for (const Effect& side : {behind, ahead})
      if (!gap_holds(side)) add_pairs_needed(needed, side, alpha, 2);
    if (!needed.empty()) {
      measured += keep_pairs_needed(verdict, most_pairs(needed));
    }
  }
  measured += "; " + where + "." + diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
