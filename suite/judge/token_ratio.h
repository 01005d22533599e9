// How many times an arm's tokens does another one need for the same loss, pair by pair: what rule
// speed_up judges and what the ledger shows of every arm against a yardstick. In tokens, FLOPs and
// seconds.
//   ratio_s(D) = D_ref,s(L_ch,s(D)) / D       seed s, challenger's budget D, reference's ladder of
//                                             the same seed (loss_curve.h)
//   in seconds: ratio / (seconds per token of the challenger / of the reference), step_time.h; the
//               ends of the interval divided by the range of that over the pairs of runs
//   in FLOPs:   ratio / (FLOPs per token of the challenger / of the reference)
#pragma once

#include <string>
#include <vector>

#include "suite/judge/evidence.h"

namespace normbench {

struct TokenRatio {
  int64_t seed;
  double log_ratio, smooth_log_ratio;  // rungs joined by chords, by a smooth curve
  bool at_least, at_most;              // the loss lies beyond the reference's ladder; a rung of it
                                       // that diverged makes it ">=" (both: both arms diverged)
  double challenger_loss,
      reference_loss;  // at equal budget; the latter NaN when the reference has no such run
};

/// One for each seed with a run of the challenger at this budget and a whole ladder of the
/// reference. A diverged challenger has infinite loss: the reference's smallest budget is already
/// enough. A diverged rung would need infinitely many: what is left of the ladder reads too few, as
/// a bound.
std::vector<TokenRatio> token_ratios_at(const Evidence& evidence, const std::string& challenger,
                                        const std::string& reference, const std::string& dataset,
                                        int64_t budget);

/// "" where the ratio is known, ">=" or "<=" where some pair is a bound, "open" for both.
std::string ratio_bound(int at_least, int at_most);

/// One row of the ladder for the reader: geometric mean, t interval, bounds, gain of loss at equal
/// budget.
Json token_ratio_row(int64_t budget, const std::vector<TokenRatio>& pairs, bool counts,
                     double alpha);

/// A ratio in tokens {estimate, low, high, bound} in another currency; null where its price is not
/// known.
Json in_seconds(const Json& tokens, const Evidence& evidence, const std::string& challenger,
                const std::string& reference, const std::string& dataset);
Json in_flops(const Json& tokens, const Evidence& evidence, const std::string& challenger,
              const std::string& reference, const std::string& dataset);

/// The largest factor between neighbouring rungs of the yardstick's ladders: chords between rungs
/// that are far apart overstate ratios (loss_curve.h, chord_excess).
double widest_step(const Evidence& evidence, const std::string& yardstick);

/// Rows {dataset, arm, budget, at_last_rung, n, tokens, flops, seconds, untuned} of every arm but
/// the yardstick at each of its budgets: what the yardstick needs for the arm's final loss / what
/// the arm took. At the yardstick's last rung a better arm can only show ">= 1" in
/// tokens.
Json equal_loss_json(const Evidence& evidence, const std::string& yardstick);

}  // namespace normbench
