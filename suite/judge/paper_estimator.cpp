#include "suite/judge/paper_estimator.h"

#include <Eigen/Dense>
#include <algorithm>

#include "suite/base/errors.h"

namespace normbench {

std::optional<PaperSpeedUp> paper_speed_up(const LossCurve& reference, double challenger_tokens,
                                           double challenger_loss) {
  const auto& d = reference.tokens;
  const auto& loss = reference.loss;
  if (d.size() < 2) return std::nullopt;
  size_t i = 0;  // the first chord whose lower end is at or below the loss
  while (i + 2 < d.size() && loss[i + 1] > challenger_loss) ++i;
  if (challenger_loss < loss[i + 1] || loss[i] == loss[i + 1]) return std::nullopt;
  const double tokens = d[i] + (loss[i] - challenger_loss) / (loss[i] - loss[i + 1]) * (d[i + 1] - d[i]);
  return PaperSpeedUp{tokens / challenger_tokens, challenger_loss > loss.front()};
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
  // Second derivatives m: continuous slope at inner knots; continuous third derivative at the second and the last but one (not-a-knot).
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(n);
  const auto h = [&](Eigen::Index i) { return x[static_cast<size_t>(i) + 1] - x[static_cast<size_t>(i)]; };
  const auto slope = [&](Eigen::Index i) { return (y[static_cast<size_t>(i) + 1] - y[static_cast<size_t>(i)]) / h(i); };
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

std::optional<double> paper_headline(const LossCurve& reference, const LossCurve& challenger, double from_tokens,
                                     int steps) {
  if (reference.tokens.size() < 2 || challenger.tokens.empty()) return std::nullopt;
  const double from = std::max(from_tokens, challenger.tokens.front());
  const double to = challenger.tokens.back();
  if (challenger.tokens.size() < 2 || from >= to) {
    if (from > to) return std::nullopt;
    const auto only = paper_speed_up(reference, challenger.tokens.back(), challenger.loss.back());
    return only ? std::optional(only->ratio) : std::nullopt;
  }
  double sum = 0;
  int count = 0;
  for (int i = 0; i <= steps; ++i) {
    const double d = from + (to - from) * i / steps;
    const auto point = paper_speed_up(reference, d, interpolate_smoothly(challenger.tokens, challenger.loss, d));
    if (!point) break;  // the paper's curve ends at the first D without reference
    sum += point->ratio;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace normbench
