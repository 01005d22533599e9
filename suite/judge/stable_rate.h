// The largest stable learning rate of an arm, from its sweep: what rule lr_tolerance compares and
// what the ledger shows of every arm.
//   rates r_1 < ... < r_m, L(r) final validation loss of one seed, infinite when it diverged
//   best = min L;  r is stable when L(r) <= best + within
//   the limit is r_k, the last rate of the unbroken row of stable rates that starts at the best
//   one, to within the grid: it lies in [r_k, r_k+1), or in [r_m, inf) when the top is stable
// LR sensitivity (Wortsman et al., arXiv 2309.14322): mean over the grid of min(L, l_0) - best,
// l_0 = the first step's training loss.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "suite/judge/evidence.h"

namespace normbench {

struct StableRate {
  double stable = 0;                                          // r_k
  double unstable = std::numeric_limits<double>::infinity();  // r_k+1; infinite: censored
  double best_lr = 0, best_loss = std::numeric_limits<double>::infinity();
  double sensitivity = 0;
  std::string untuned;  // why the grid does not tell
};

using RateTrials = std::map<double, const Record*>;  // [rate]

RateTrials trials_of(const Evidence& evidence, const std::string& arm, const std::string& dataset,
                     int64_t budget, int64_t seed);
/// Where an arm was swept: budget, seed.
std::set<std::pair<int64_t, int64_t>> swept_places(const Evidence& evidence, const std::string& arm,
                                                   const std::string& dataset);

/// Of trials that can all be read.
StableRate stable_rate(const RateTrials& trials, double within);

/// {stable, unstable, best_lr, best_loss, sensitivity}, null for what is not finite.
Json stable_rate_json(const StableRate& rate);
/// "seed 100: stable up to 0.63, not at 2.0; best 0.2 with 4.104 nats" of a row with a seed.
std::string stable_rate_text(const Json& row);

/// Rows of every arm at its longest swept budget, with dataset, arm, budget, seed and "untuned"
/// (why the grid does not tell, or ""); none for an arm with a trial that cannot be read.
Json stable_rates_json(const Evidence& evidence, double within);

}  // namespace normbench
