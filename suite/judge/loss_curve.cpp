#include "suite/judge/loss_curve.h"

#include <algorithm>
#include <cmath>

#include "suite/base/errors.h"

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
  NORMBENCH_CHECK(!curve.tokens.empty() && curve.tokens.size() == curve.loss.size(), "an empty ladder");
  NORMBENCH_CHECK(std::is_sorted(curve.loss.rbegin(), curve.loss.rend()), "the curve rises");
  if (loss > curve.loss.front()) return {curve.tokens.front(), Bound::kAtMost};
  if (loss < curve.loss.back()) return {curve.tokens.back(), Bound::kAtLeast};
  // first: the first rung at or below `loss`; last: the last rung at or above it. They are equal on a rung, swapped on a flat part.
  size_t first = 0, last = curve.loss.size() - 1;
  while (curve.loss[first] > loss) ++first;
  while (curve.loss[last] < loss) --last;
  if (first <= last) return {std::sqrt(curve.tokens[first] * curve.tokens[last]), Bound::kValue};
  const double share = (curve.loss[last] - loss) / (curve.loss[last] - curve.loss[first]);
  const double a = std::log(curve.tokens[last]), b = std::log(curve.tokens[first]);
  return {std::exp(a + share * (b - a)), Bound::kValue};
}

}  // namespace normbench
