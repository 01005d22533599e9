#include "suite/judge/loss_curve.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "suite/base/errors.h"
#include "suite/base/text.h"

namespace normbench {

LossCurve never_rising(const LossCurve& curve, bool* pooled) {
  struct Block {
    double sum;
    size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  for (const double loss : curve.loss) {
    blocks.push_back({loss, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() < blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  if (pooled != nullptr) *pooled = blocks.size() != curve.loss.size();
  LossCurve smooth{curve.tokens, {}};
  for (const auto& block : blocks) smooth.loss.insert(smooth.loss.end(), block.count, block.mean());
  return smooth;
}

TokensNeeded tokens_needed(const LossCurve& curve, double loss) {
  NORMBENCH_CHECK(!curve.tokens.empty() && curve.tokens.size() == curve.loss.size(),
                  "an empty ladder");
  NORMBENCH_CHECK(std::is_sorted(curve.loss.rbegin(), curve.loss.rend()), "the curve rises");
  // A flat end is one of pooled rungs, of which some lay beyond it: the bound is the rung that
  // holds for all of them.
  const auto rungs_at = [&](double level) {
    return static_cast<size_t>(std::count(curve.loss.begin(), curve.loss.end(), level));
  };
  if (const double first = curve.loss.front(); loss > first)
    return {curve.tokens[rungs_at(first) - 1], Bound::kAtMost};
  if (const double last = curve.loss.back(); loss < last)
    return {curve.tokens[curve.tokens.size() - rungs_at(last)], Bound::kAtLeast};
  // first: the first rung at or below `loss`; last: the last rung at or above it. They are equal on
  // a rung, swapped on a flat part.
  size_t first = 0, last = curve.loss.size() - 1;
  while (curve.loss[first] > loss) ++first;
  while (curve.loss[last] < loss) --last;
  if (first <= last) return {std::sqrt(curve.tokens[first] * curve.tokens[last]), Bound::kValue};
  const double share = (curve.loss[last] - loss) / (curve.loss[last] - curve.loss[first]);
  const double a = std::log(curve.tokens[last]), b = std::log(curve.tokens[first]);
  return {std::exp(a + share * (b - a)), Bound::kValue};
}

TokensNeeded tokens_needed_smoothly(const LossCurve& curve, double loss) {
  const TokensNeeded chord = tokens_needed(curve, loss);
  const auto upper = std::upper_bound(curve.tokens.begin(), curve.tokens.end(), chord.tokens);
  if (chord.bound != Bound::kValue || curve.tokens.size() < 3 || upper == curve.tokens.begin() ||
      upper == curve.tokens.end())
    return chord;
  std::vector<double> x;
  for (const double tokens : curve.tokens) x.push_back(std::log(tokens));
  double left = std::log(*(upper - 1)), right = std::log(*upper);
  for (int i = 0; i < 60;
       ++i) {  // the spline goes through both rungs, so the bracket holds a solution
    const double middle = (left + right) / 2;
    (interpolate_smoothly(x, curve.loss, middle) > loss ? left : right) = middle;
  }
  return {std::exp((left + right) / 2), Bound::kValue};
}

double chord_excess(double step) {
  constexpr double kSlope = .42;
  // With u = ln(D / D_k) and L = exp(-kSlope u), the chord has L at u_chord = ln(step) (1 - L) /
  // (1 - L_k+1); u_chord - u is largest where both are equally steep.
  const double fall = 1 - std::pow(step, -kSlope);
  const double at = fall / (kSlope * std::log(step));  // L there
  return std::exp(std::log(step) * (1 - at) / fall + std::log(at) / kSlope);
}

double widest_step(const std::vector<double>& rungs) {
  double widest = 1;
  for (size_t i = 1; i < rungs.size(); ++i) widest = std::max(widest, rungs[i] / rungs[i - 1]);
  return widest;
}

std::string wide_step_text(double step) {
  return "rungs of the ladder lie up to " + plain_text(step) +
         " times apart: chords between them overstate a ratio by up to " +
         fixed(100 * (chord_excess(step) - 1), 0) + " %";
}

double interpolate_smoothly(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const auto n = static_cast<Eigen::Index>(x.size());
  NORMBENCH_CHECK(n >= 2 && x.size() == y.size(), std::to_string(n) + " points");
  if (n <= 3) {  // Lagrange
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double term = y[i];
      for (size_t j = 0; j < x.size(); ++j)
        if (j != i) term *= (at - x[j]) / (x[i] - x[j]);
      sum += term;
    }
    return sum;
  }
  // Second derivatives m: continuous slope at inner knots; continuous third derivative at the
  // second and the last but one (not-a-knot).
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(n);
  const auto h = [&](Eigen::Index i) {
    return x[static_cast<size_t>(i) + 1] - x[static_cast<size_t>(i)];
  };
  const auto slope = [&](Eigen::Index i) {
    return (y[static_cast<size_t>(i) + 1] - y[static_cast<size_t>(i)]) / h(i);
  };
  for (Eigen::Index i = 1; i + 1 < n; ++i) {
    a(i, i - 1) = h(i - 1);
    a(i, i) = 2 * (h(i - 1) + h(i));
    a(i, i + 1) = h(i);
    b(i) = 6 * (slope(i) - slope(i - 1));
  }
  a(0, 0) = h(1), a(0, 1) = -(h(0) + h(1)), a(0, 2) = h(0);
  a(n - 1, n - 3) = h(n - 2), a(n - 1, n - 2) = -(h(n - 3) + h(n - 2)), a(n - 1, n - 1) = h(n - 3);
  const Eigen::VectorXd m = a.fullPivLu().solve(b);
  const auto upper = std::upper_bound(x.begin() + 1, x.end() - 1, at);
  const Eigen::Index i = (upper - x.begin()) - 1;
  const double left = at - x[static_cast<size_t>(i)], right = x[static_cast<size_t>(i) + 1] - at;
  return m(i) * right * right * right / (6 * h(i)) + m(i + 1) * left * left * left / (6 * h(i)) +
         (y[static_cast<size_t>(i)] / h(i) - m(i) * h(i) / 6) * right +
         (y[static_cast<size_t>(i) + 1] / h(i) - m(i + 1) * h(i) / 6) * left;
}

}  // namespace normbench
