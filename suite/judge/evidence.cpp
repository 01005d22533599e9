#include "suite/judge/evidence.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "suite/judge/statistics.h"

namespace normbench {
namespace {

// Of ascending lists.
std::vector<int64_t> in_all(const std::vector<std::vector<int64_t>>& lists) {
  std::vector<int64_t> left = lists.empty() ? std::vector<int64_t>() : lists.front();
  for (const auto& list : lists) {
    std::vector<int64_t> both;
    std::set_intersection(left.begin(), left.end(), list.begin(), list.end(),
                          std::back_inserter(both));
    left = both;
  }
  return left;
}

// The budgets at which an arm is compared with others at its longest: its own last one, and the
// last that it shares with each other arm, whose ladder may be another.
std::set<int64_t> longest_budgets(const Evidence& evidence, const std::string& arm,
                                  const std::string& dataset) {
  std::set<int64_t> longest = {evidence.budgets(arm, dataset).back()};
  for (const auto& other : evidence.input.arms)
    if (const auto common = evidence.common_budgets({arm, other.name}, dataset); !common.empty())
      longest.insert(common.back());
  return longest;
}

}  // namespace

Evidence Evidence::load(const JudgeInput& input, const std::string& runs_folder) {
  Evidence evidence{input,
                    load_records(runs_folder, input.runs, input.canaries),
                    load_records(runs_folder, input.sweep_runs, input.canaries),
                    {}};
  evidence.tuning = read_sweep(input, evidence.sweep);
  // Step lines are checked by now; only those of the longest runs are looked at again, and of a
  // trial the first one, which tells the loss before training.
  for (auto& record : evidence.sweep)
    if (!record.step_lines.empty()) record.step_lines.resize(1);
  std::map<std::pair<std::string, std::string>, std::set<int64_t>> longest;  // [arm, dataset]
  for (auto& record : evidence.runs) {
    if (record.is_measurement()) continue;
    const auto [place, is_new] = longest.try_emplace({record.run.arm, record.run.dataset});
    if (is_new) place->second = longest_budgets(evidence, record.run.arm, record.run.dataset);
    if (!place->second.contains(record.run.token_budget)) record.step_lines.clear();
  }
  return evidence;
}

const Record* Evidence::measurement(const std::string& name, int64_t seed) const {
  for (const auto& record : runs)
    if (record.is_measurement() && record.run.arm == name && record.run.seed == seed)
      return &record;
  return nullptr;
}

std::vector<int64_t> Evidence::measurement_seeds(const std::string& name) const {
  std::set<int64_t> found;
  for (const auto& record : runs)
    if (record.is_measurement() && record.run.arm == name) found.insert(record.run.seed);
  return {found.begin(), found.end()};
}

const Record* Evidence::find(const std::string& arm, const std::string& dataset, int64_t budget,
                             int64_t seed) const {
  for (const auto& record : runs)
    if (record.run.seed == seed && record.run.token_budget == budget && record.run.arm == arm &&
        record.run.dataset == dataset)
      return &record;
  return nullptr;
}

std::vector<int64_t> Evidence::budgets(const std::string& arm, const std::string& dataset) const {
  std::set<int64_t> found;
  for (const auto& record : runs)
    if (record.run.arm == arm && record.run.dataset == dataset)
      found.insert(record.run.token_budget);
  return {found.begin(), found.end()};
}

std::vector<int64_t> Evidence::seeds(const std::string& arm, const std::string& dataset) const {
  std::map<int64_t, size_t> count;
  for (const auto& record : runs)
    if (record.run.arm == arm && record.run.dataset == dataset) ++count[record.run.seed];
  const size_t all = budgets(arm, dataset).size();
  std::vector<int64_t> found;
  for (const auto& [seed, n] : count)
    if (n == all) found.push_back(seed);
  return found;
}

std::vector<int64_t> Evidence::pairs(const std::string& arm, const std::string& other,
                                     const std::string& dataset) const {
  return common_seeds({arm, other}, dataset);
}

std::vector<int64_t> Evidence::common_seeds(const std::vector<std::string>& arms,
                                            const std::string& dataset) const {
  std::vector<std::vector<int64_t>> lists;
  for (const auto& arm : arms) lists.push_back(seeds(arm, dataset));
  return in_all(lists);
}

std::vector<int64_t> Evidence::common_budgets(const std::vector<std::string>& arms,
                                              const std::string& dataset) const {
  std::vector<std::vector<int64_t>> lists;
  for (const auto& arm : arms) lists.push_back(budgets(arm, dataset));
  return in_all(lists);
}

LossCurve Evidence::curve(const std::string& arm, const std::string& dataset,
                          std::optional<int64_t> seed) const {
  std::map<int64_t, std::vector<double>> losses;
  for (const auto& record : runs)
    if (record.run.arm == arm && record.run.dataset == dataset &&
        record.state == RecordState::kFinished && (!seed || record.run.seed == *seed))
      losses[record.run.token_budget].push_back(record.validation_loss());
  LossCurve curve;
  for (const auto& [budget, values] : losses) {
    curve.tokens.push_back(static_cast<double>(budget));
    curve.loss.push_back(mean(values));
  }
  return curve;
}

std::optional<double> Evidence::flops_per_token(const std::string& arm,
                                                const std::string& dataset) const {
  const auto of_arm = input.token_cost.find(arm);
  if (of_arm == input.token_cost.end() || !of_arm->second.contains(dataset)) return std::nullopt;
  const TokenCost& cost = of_arm->second.at(dataset);
  for (const auto& record : runs)
    if (record.run.arm == arm && record.run.dataset == dataset && record.usable())
      return 6 * (record.manifest.at("parameters").get<double>() - cost.idle_parameters) +
             cost.attention_flops;
  return std::nullopt;
}

const ArmInfo& Evidence::arm(const std::string& name) const {
  for (const auto& arm : input.arms)
    if (arm.name == name) return arm;
  throw UserError({.what = "unknown arm", .where = input.table_file, .found = "\"" + name + "\""});
}

}  // namespace normbench
