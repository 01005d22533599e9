// The anGPT paper's own "convergence speed-up", recovered from its plotted curves (the paper does
// not define it in words): the reference's final losses joined LINEARLY in (tokens, loss), the
// challenger's own curve interpolated cubically (quadratically when it has three budgets),
// speed-up(D) = D_ref(L_ch(D)) / D. Printed beside our estimator, so that a reader compares like
// with like; never decides a verdict.
#pragma once

#include <optional>
#include <vector>

#include "suite/judge/loss_curve.h"

namespace normbench {

struct PaperSpeedUp {
  double ratio = 0;
  bool extrapolated = false;  // the loss is above the reference's first: its first chord is
                              // prolonged, as the paper does
};

/// At one point. Empty where the challenger is below the reference's last loss ("No Reference
/// Data").
std::optional<PaperSpeedUp> paper_speed_up(const LossCurve& reference, double challenger_tokens,
                                           double challenger_loss);

/// The headline: uniform mean of speed-up(D) over D from `from_tokens` (or the challenger's first
/// budget, if later) to the last D that has a reference, in `steps` steps. Empty when no D has one.
std::optional<double> paper_headline(const LossCurve& reference, const LossCurve& challenger,
                                     double from_tokens, int steps = 2000);

}  // namespace normbench
