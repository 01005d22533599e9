#include "suite/judge/paired.h"

#include <algorithm>
#include <cmath>

#include "suite/base/text.h"

namespace normbench {

std::vector<double> PairedLosses::differences() const {
  std::vector<double> all;
  for (size_t i = 0; i < seeds.size(); ++i) all.push_back(challenger[i] - reference[i]);
  return all;
}

PairedLosses paired_losses(const Evidence& evidence, const std::string& challenger,
                           const std::string& reference, const std::string& dataset,
                           int64_t budget) {
  PairedLosses pairs;
  for (const int64_t seed : evidence.pairs(challenger, reference, dataset)) {
    const Record* a = evidence.find(challenger, dataset, budget, seed);
    const Record* b = evidence.find(reference, dataset, budget, seed);
    if (a == nullptr || b == nullptr || !a->usable() || !b->usable()) continue;
    pairs.challenger_diverged += a->diverged();
    pairs.reference_diverged += b->diverged();
    if (a->diverged() || b->diverged()) continue;
    pairs.seeds.push_back(seed);
    pairs.challenger.push_back(a->validation_loss());
    pairs.reference.push_back(b->validation_loss());
  }
  return pairs;
}

Json paired_row(int64_t budget, const PairedLosses& pairs) {
  return {{"budget", budget},
          {"counts", true},
          {"n", pairs.seeds.size()},
          {"bound", ""},
          {"estimate", nullptr},
          {"low", nullptr},
          {"high", nullptr},
          {"challenger_diverged", pairs.challenger_diverged},
          {"reference_diverged", pairs.reference_diverged}};
}

Effect gap_effect(const PairedLosses& worse_minus_better, double alpha) {
  Effect effect{.values = worse_minus_better.differences(),
                .bounded_below = worse_minus_better.challenger_diverged,
                .bounded_above = worse_minus_better.reference_diverged};
  effect.finish(alpha);
  return effect;
}

void take_gap(Effect& effect, double gap) {
  if (std::isfinite(gap)) {
    effect.values.push_back(gap);
    return;
  }
  effect.bounded_below += !(gap < 0);
  effect.bounded_above += !(gap > 0);
}

bool gap_holds(const Effect& gap) {
  if (gap.values.empty()) return gap.bounded_below >= 2 && gap.bounded_above == 0;
  return gap.has_interval && gap.interval.low > 0;
}

bool gap_reversed(const Effect& gap, double alpha) {
  if (gap.values.empty()) return gap.bounded_above >= 2 && gap.bounded_below == 0;
  return gap.has_interval && gap.bounded_below == 0 && t_interval(gap.values, alpha).high < 0;
}

Effect GapLadder::at(size_t place, double alpha) const {
  Effect effect;
  for (const auto& [seed, gaps] : seeds) take_gap(effect, gaps[place]);
  effect.finish(alpha);
  return effect;
}

GapLadder validation_gaps(const Evidence& evidence, const std::string& challenger,
                          const std::string& reference, const std::string& dataset) {
  GapLadder ladder{evidence.common_budgets({challenger, reference}, dataset), {}};
  for (const int64_t seed : evidence.pairs(challenger, reference, dataset)) {
    std::vector<double> gaps;
    for (const int64_t budget : ladder.tokens) {
      const Record* a = evidence.find(challenger, dataset, budget, seed);
      const Record* b = evidence.find(reference, dataset, budget, seed);
      if (a->usable() && b->usable()) gaps.push_back(b->validation_loss() - a->validation_loss());
    }
    if (gaps.size() == ladder.tokens.size()) ladder.seeds.push_back({seed, gaps});
  }
  return ladder;
}

Json gap_row(int64_t budget, const Effect& gap, bool counts) {
  const auto finite = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
  return {{"budget", budget},
          {"counts", counts},
          {"n", gap.values.size()},
          {"bound", ""},
          {"estimate", gap.values.empty() ? Json() : Json(gap.mean)},
          {"low", finite(gap.interval.low)},
          {"high", finite(gap.interval.high)}};
}

std::string nats_text(const Effect& effect) {
  const auto end = [](double x) { return std::isfinite(x) ? fixed(x, 3) : std::string("open"); };
  if (effect.values.empty()) return "no pair of losses";
  return fixed(effect.mean, 3) + " nats (interval " + end(effect.interval.low) + " .. " +
         end(effect.interval.high) + ")";
}

std::string by_seed_text(const std::vector<std::string>& values) {
  return "seed by seed " + join(values, " ");
}

std::string by_seed_text(const std::vector<double>& values, int digits) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(fixed(value, digits));
  return by_seed_text(texts);
}

std::string pairs_needed_text(const std::optional<PairsNeeded>& pairs) {
  if (!pairs) return "; no number of pairs would settle it, since an end of the interval is open";
  const std::string number = pairs->n > 1000
                                 ? "more than 1000"
                                 : (pairs->at_least ? "at least " : "") + std::to_string(pairs->n);
  return std::string("; if ") + pairs->if_true + ", " + number +
         " pairs would settle it with 80 % power";
}

std::string keep_pairs_needed(Verdict& verdict, const std::optional<PairsNeeded>& pairs) {
  if (pairs) verdict.pairs_needed = pairs->n;
  return pairs_needed_text(pairs);
}

void add_pairs_needed(std::vector<std::optional<PairsNeeded>>& needed, const Effect& gap,
                      double alpha, size_t parts) {
  if (!gap.has_interval) {
    if (gap.open()) needed.emplace_back();
    return;
  }
  const bool alone = !(gap.mean > 0);
  auto pairs =
      more_pairs(gap, std::abs(gap.mean), alone ? alpha / static_cast<double>(parts) : alpha);
  if (pairs) {
    pairs->if_true = kAsMeasured;  // the measured size was handed over as the claimed one
    pairs->alone = alone;
  }
  needed.push_back(pairs);
}

std::optional<PairsNeeded> most_pairs(const std::vector<std::optional<PairsNeeded>>& needed) {
  std::optional<PairsNeeded> fewest;
  PairsNeeded most;
  bool open = false;
  for (const auto& pairs : needed) {
    open = open || !pairs;
    if (pairs && pairs->alone && (!fewest || pairs->n < fewest->n)) fewest = pairs;
    if (pairs && pairs->n > most.n) most = *pairs;
  }
  if (fewest || open) return fewest;
  most.at_least = needed.size() > 1;
  return most;
}

std::string shared_alpha_text(const Effect& gap, double alpha, size_t parts, double sign) {
  const double shared = alpha / static_cast<double>(parts);
  if (!gap.has_interval || gap.interval.high >= 0 || gap_reversed(gap, shared)) return "";
  const Interval wider = t_interval(gap.values, shared);
  const std::string far = gap.bounded_above > 0 ? "open" : fixed(sign * wider.low, 3),
                    near = fixed(sign * wider.high, 3);
  return ", which with alpha shared by " + std::to_string(parts) + " is " +
         (sign > 0 ? far + " .. " + near : near + " .. " + far);
}

double p_of_gaps(const std::vector<Effect>& gaps, bool reversed) {
  double largest = 0, least = 1;
  for (const Effect& gap : gaps) {
    largest = std::max(largest, gap.mean > 0 || gaps.size() == 1 ? gap.p_value : 1);
    if (gap.mean < 0) least = std::min(least, gap.p_value);
  }
  return reversed ? std::min(1.0, least * static_cast<double>(gaps.size())) : largest;
}

}  // namespace normbench
