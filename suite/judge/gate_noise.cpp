#include "suite/judge/gate_noise.h"

#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/statistics.h"

namespace normbench {
std::vector<double> committed_losses(const Json& group_values) {
  std::vector<double> losses;
  for (const auto& value : group_values)
    if (value.contains("validation_loss") && value["validation_loss"].is_number())
      losses.push_back(value["validation_loss"].get<double>());
  return losses;
}

std::optional<PooledNoise> pooled_noise(const Json& entry) {
  double squares = 0;
  PooledNoise noise;
  const Json arms = entry.value("arms", Json::object());
  for (const auto& arm : arms)
    for (const auto& dataset : arm)
      for (const auto& group : dataset) {
        const auto losses = committed_losses(group.value("values", Json::array()));
        if (losses.size() < 2) continue;
        const int df = static_cast<int>(losses.size()) - 1;
        squares += df * std::pow(sample_sd(losses), 2);
        noise.df += df;
      }
  if (noise.df == 0) return std::nullopt;
  noise.s = std::sqrt(squares / noise.df);
  return noise;
}

double Drift::p() const {
  const int n = static_cast<int>(differences.size());
  return prediction_p(mean(differences), std::max(noise.s, committed_s), n, n, noise.df);
}

double Drift::limit(double alpha) const {
  const int n = static_cast<int>(differences.size());
  return prediction_factor(n, n, noise.df, alpha) * std::max(noise.s, committed_s);
}

std::string group_name(const RunRef& run) {
  return run.arm + ", " + run.dataset + ", " + std::to_string(run.token_budget);
}

std::string Drifts::add(const RunRef& run, double difference, const Json& group_values,
                        const std::string& entry_name, const Json& entry) {
  const auto noise = pooled_noise(entry);
  if (!noise)
    return "the baseline has one value a group in class \"" + entry_name +
           "\"; another class can be compared when some group has 2 or more. Bless on this class.";
  const auto losses = committed_losses(group_values);
  Drift& drift = drifts_[{group_name(run), entry_name}];
  drift.noise = *noise;
  drift.committed_s = losses.size() < 2 ? 0 : sample_sd(losses);
  drift.differences.push_back(difference);
  return "";
}

std::vector<std::string> Drifts::faults(double alpha, size_t family) const {
  std::vector<double> p_values;
  for (const auto& [of, drift] : drifts_) p_values.push_back(drift.p());
  family = std::max(family, p_values.size());
  const auto rejected = holm(p_values, alpha, family);
  std::vector<std::string> faults;
  size_t i = 0;
  for (const auto& [of, drift] : drifts_) {
    if (!rejected[i++]) continue;
    // Holm's step of this one: the smallest p is compared with alpha / family, the next with one
    // less.
    const auto smaller =
        std::count_if(p_values.begin(), p_values.end(), [&](double p) { return p < drift.p(); });
    const double step = alpha / static_cast<double>(family - static_cast<size_t>(smaller));
    const auto& [group, entry] = of;
    faults.push_back(group + ": the mean loss of " + count_text(drift.differences.size(), "seed") +
                     " is " + fixed(mean(drift.differences), 6) +
                     " from the committed one, which is outside +-" + fixed(drift.limit(step), 6) +
                     " (t prediction interval; noise of the table's groups " +
                     fixed(drift.noise.s, 6) + " with " + std::to_string(drift.noise.df) +
                     " degrees of freedom in class \"" + entry + "\"; Holm over " +
                     std::to_string(family) + " groups)");
  }
  return faults;
}

}  // namespace normbench
