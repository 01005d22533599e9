#include "suite/judge/paired.h"

#include <cmath>

#include "suite/judge/text.h"

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

std::string nats_text(const Effect& effect) {
  const auto end = [](double x) { return std::isfinite(x) ? fixed(x, 3) : std::string("open"); };
  if (effect.values.empty()) return "no pair of losses";
  return fixed(effect.mean, 3) + " nats (interval " + end(effect.interval.low) + " .. " +
         end(effect.interval.high) + ")";
}

std::string pairs_needed_text(int pairs) {
  return pairs > 1000 ? "; more than 1000 pairs would be needed"
                      : "; " + std::to_string(pairs) + " pairs would settle it with 80 % power";
}

}  // namespace normbench
