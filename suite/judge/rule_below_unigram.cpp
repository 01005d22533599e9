// Rule "below_unigram": the model knows more than how often each token occurs.
//   H = - sum_v p_v ln p_v      nats, p_v the share of token v among the training tokens
//   L_s                         validation loss at the longest budget, seed s
// The highest L_s decides and is shown. It has no interval: the t interval of the mean need not
// hold it.
//   REPRODUCED      L_s < H for every seed, of 2 or more; a diverged run is not below anything
//   NOT_REPRODUCED  some L_s >= H
//   INCONCLUSIVE    one seed alone; or H is not known for the tokens that the records name
// H is counted when the data set is prepared (data/dataset.cpp) and belongs to the digest of the
// training tokens, which every record holds: so records from before this rule can be judged.
#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"

namespace normbench {
namespace {

// Empty when a record names tokens whose entropy is not known, or two records name different ones.
std::optional<double> unigram_entropy(const JudgeInput& input,
                                      const std::vector<const Record*>& records) {
  std::optional<double> entropy;
  for (const Record* record : records) {
    const auto known =
        input.unigram_entropy_nats.find(record->manifest.at("data").at("train_digest"));
    if (known == input.unigram_entropy_nats.end() || (entropy && *entropy != known->second))
      return std::nullopt;
    entropy = known->second;
  }
  return entropy;
}

}  // namespace

Verdict rule_below_unigram(const Claim& claim, const Evidence& evidence,
                           const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  verdict.statistics_say = Outcome::kInconclusive;
  const auto budgets = evidence.budgets(claim.challenger, dataset);
  if (budgets.empty()) {
    finish_verdict(verdict, claim, evidence, "");
    return verdict;
  }
  verdict.budgets = {budgets.back()};
  verdict.seeds.clear();
  std::vector<const Record*> records;
  std::vector<double> losses;
  for (const int64_t seed : evidence.seeds(claim.challenger, dataset)) {
    const Record* record = evidence.find(claim.challenger, dataset, budgets.back(), seed);
    if (!record->usable()) continue;
    records.push_back(record);
    losses.push_back(record->validation_loss());
    verdict.seeds.push_back(seed);
    verdict.facts.push_back("seed " + std::to_string(seed) + ": " +
                            (record->diverged() ? "diverged" : fixed(losses.back(), 3) + " nats"));
  }
  verdict.pairs = static_cast<int>(losses.size());
  const auto entropy = unigram_entropy(evidence.input, records);
  std::string measured = "No run has a loss";
  if (!losses.empty()) {
    const double worst = *std::max_element(losses.begin(), losses.end());
    if (std::isfinite(worst)) verdict.estimate = worst;
    const std::string found = "The highest loss of " + count_text(losses.size(), "seed") + " at " +
                              tokens_text(static_cast<double>(budgets.back())) + " tokens is " +
                              fixed(worst, 3) + " nats";
    if (!entropy) {
      measured =
          "Not tested: the unigram entropy of the training tokens that these records name is "
          "not known here (normbench data prepare counts it). " +
          found;
    } else {
      verdict.paper = {{"value", *entropy},
                       {"unit", "nats"},
                       {"how", "counted"},
                       {"where", "unigram entropy of the training tokens"}};
      measured = found + (worst < *entropy ? ", below" : ", not below") + " the unigram entropy " +
                 fixed(*entropy, 3);
      if (!(worst < *entropy))
        verdict.statistics_say = Outcome::kNotReproduced;
      else if (losses.size() >= 2)
        verdict.statistics_say = Outcome::kReproduced;
      else
        measured += "; one seed alone decides nothing";
    }
  }
  finish_verdict(verdict, claim, evidence, measured + "." + diverged_text(verdict));
  return verdict;
}

}  // namespace normbench
