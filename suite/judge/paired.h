// The final losses of two arms at one budget, seed by seed: what every rule about losses counts.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/evidence.h"
#include "suite/judge/outcome.h"

namespace normbench {

struct PairedLosses {
  std::vector<int64_t> seeds;                           // of pairs in which both runs ended
  std::vector<double> challenger, reference;            // their validation losses
  int challenger_diverged = 0, reference_diverged = 0;  // runs in pairs that both can be used

  /// challenger - reference, in nats.
  std::vector<double> differences() const;
};
PairedLosses paired_losses(const Evidence& evidence, const std::string& challenger,
                           const std::string& reference, const std::string& dataset,
                           int64_t budget);

/// A row of Verdict::per_budget without its numbers.
Json paired_row(int64_t budget, const PairedLosses& pairs);

/// L_worse - L_better as an effect whose claim is positive: a diverged run is infinitely bad, so it
/// opens the interval on its side.
Effect gap_effect(const PairedLosses& worse_minus_better, double alpha);

/// "0.123 nats (interval 0.100 .. 0.146)", with "open" for an open end.
std::string nats_text(const Effect& effect);
/// "; 12 pairs would settle it with 80 % power".
std::string pairs_needed_text(int pairs);

}  // namespace normbench
