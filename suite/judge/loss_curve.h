// A reference's ladder: loss over token budget, one separate run a rung. And the question asked of
// it: how many tokens would the reference need for this loss? Answered inside the ladder only.
#pragma once

#include <string>
#include <vector>

namespace normbench {

struct LossCurve {
  std::vector<double> tokens;  // ascending
  std::vector<double> loss;    // nats per token at the end of the run of that budget
};

enum class Bound {
  kValue,    // inside the ladder
  kAtLeast,  // the loss is below the ladder's last: the reference needs more tokens than the ladder
             // has
  kAtMost,   // the loss is above the ladder's first
};

struct TokensNeeded {
  double tokens = 0;
  Bound bound = Bound::kValue;
};

/// The nearest curve that never rises (pool adjacent violators, equal weights): seed noise can put
/// a longer run above a shorter one.
/// `*pooled` says whether anything had to move.
LossCurve never_rising(const LossCurve& curve, bool* pooled = nullptr);

/// Solves curve(tokens) = loss with the curve joined linearly in (ln tokens, loss); where it is
/// flat, the geometric middle of the flat part. Outside the ladder: its nearest end, as a bound (of
/// a flat end its inner rung); never extrapolated. The curve must not rise.
TokensNeeded tokens_needed(const LossCurve& never_rising_curve, double loss);

/// The same with the rungs joined by a smooth curve in (ln tokens, loss), see
/// interpolate_smoothly(); the bracket is that of the chords. Chords lie above a convex curve and
/// overstate a ratio by some percent when rungs are a factor 2 apart: the difference of the two
/// says by how much.
TokensNeeded tokens_needed_smoothly(const LossCurve& never_rising_curve, double loss);

/// How many times too many tokens a chord gives at the worst place between two rungs that are a
/// factor `step` apart, for losses that fall like a constant plus D^-.42 (the slope that the cpu
/// tier's ladders show): 1.026 for 2, 1.065 for 3, 1.106 for 4.
double chord_excess(double step);
/// The largest factor between neighbouring rungs, given in ascending order; 1 below two.
double widest_step(const std::vector<double>& rungs);
/// Rungs farther apart than the factor of 2 between the budgets of most ladders.
constexpr double kWideStep = 2.01;
/// "rungs of the ladder lie up to 4 times apart: chords between them overstate ...".
std::string wide_step_text(double step);

/// The curve through all points of (x, y) at `at`: not-a-knot cubic spline (4 points or more),
/// parabola (3), line (2).
double interpolate_smoothly(const std::vector<double>& x, const std::vector<double>& y, double at);

}  // namespace normbench
