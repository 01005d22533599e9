// The final losses of two arms, seed by seed, at one budget or along the ladder: what every rule
// about losses counts.
#pragma once

#include <string>
#include <utility>
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

/// Adds one seed's gap. An infinite one bounds nothing by itself: it opens the interval of the
/// others on its side; one that is not a number (both runs diverged) on both.
void take_gap(Effect& effect, double gap);

/// Whether a gap is shown to be positive: its interval lies above 0, or the worse arm's runs, two
/// or more, all diverged and none of the better one's.
bool gap_holds(const Effect& gap);
/// Whether it is shown to be negative, at its own `alpha`: a verdict that one of several gaps can
/// overturn shares its alpha among them.
bool gap_reversed(const Effect& gap, double alpha);

/// gap_s(D) = L_reference,s(D) - L_challenger,s(D) in nats, at places D of one seed s; infinite
/// where a run diverged, not a number where both did.
struct GapLadder {
  std::vector<int64_t> tokens;                                 // ascending
  std::vector<std::pair<int64_t, std::vector<double>>> seeds;  // a gap for each place

  /// The gap at one place, over the seeds.
  Effect at(size_t place, double alpha) const;
};
/// Of final validation losses: the places are the common budgets, the seeds those with all runs.
GapLadder validation_gaps(const Evidence& evidence, const std::string& challenger,
                          const std::string& reference, const std::string& dataset);
/// A row of Verdict::per_budget, in nats.
Json gap_row(int64_t budget, const Effect& gap, bool counts);

/// "0.123 nats (interval 0.100 .. 0.146)", with "open" for an open end.
std::string nats_text(const Effect& effect);
/// "seed by seed 0.008 0.014 0.235": a mean and its interval do not show whether one seed made
/// them.
std::string by_seed_text(const std::vector<std::string>& values);
std::string by_seed_text(const std::vector<double>& values, int digits = 3);

/// "; if the effect is as large as measured, 12 pairs would settle it with 80 % power", or that no
/// number of pairs would.
std::string pairs_needed_text(const std::optional<PairsNeeded>& pairs);
/// The same, and the verdict keeps their number.
std::string keep_pairs_needed(Verdict& verdict, const std::optional<PairsNeeded>& pairs);
/// Adds what settles one of `parts` gaps, of the measured size: nothing where diverged runs left no
/// interval. Too few pairs of any kind add no entry. A gap on the wrong side settles the claim
/// alone, at the shared alpha (gap_reversed).
void add_pairs_needed(std::vector<std::optional<PairsNeeded>>& needed, const Effect& gap,
                      double alpha, size_t parts);
/// What settles a claim that asks for several effects: the fewest pairs of those that settle it
/// alone; else those of the least settled one, and nothing where one cannot be settled.
std::optional<PairsNeeded> most_pairs(const std::vector<std::optional<PairsNeeded>>& needed);

/// ", which with alpha shared by 2 is -0.217 .. 0.017": said of an interval below 0 where the one
/// at the shared alpha, which alone may overturn a verdict (gap_reversed), is not. Else nothing.
/// With a `sign` of -1 the interval is shown negated, for a sentence about the negated gap.
std::string shared_alpha_text(const Effect& gap, double alpha, size_t parts, double sign = 1);

/// p of a verdict for which all gaps must be positive: the largest of theirs, where one on the
/// wrong side has 1 (a single gap keeps its own, which speaks of either side). Of a verdict that a
/// gap `reversed`: the least of those on the wrong side, times the number of gaps.
double p_of_gaps(const std::vector<Effect>& gaps, bool reversed);

}  // namespace normbench
