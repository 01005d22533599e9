#include "suite/judge/paper_estimator.h"

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
  const double tokens =
      d[i] + (loss[i] - challenger_loss) / (loss[i] - loss[i + 1]) * (d[i + 1] - d[i]);
  return PaperSpeedUp{tokens / challenger_tokens, challenger_loss > loss.front()};
}

std::optional<double> paper_headline(const LossCurve& reference, const LossCurve& challenger,
                                     double from_tokens, int steps) {
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
    const auto point =
        paper_speed_up(reference, d, interpolate_smoothly(challenger.tokens, challenger.loss, d));
    if (!point) break;  // the paper's curve ends at the first D without reference
    sum += point->ratio;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace normbench
