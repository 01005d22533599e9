// Rule "non_inferiority": the challenger is not worse than the reference by more than a margin
// written before the run.
//   d_s(D) = L_ch,s(D) - L_ref,s(D), nats, at equal budget; t interval over the seeds
//   REPRODUCED      at every budget the interval of d ends below the margin (each must pass, so no
//                   correction is needed)
//   NOT_REPRODUCED  at some budget it begins above the margin (alpha shared by the budgets)
//   INCONCLUSIVE    otherwise
// A run that diverged is infinitely bad and opens the interval on its side, whichever arm it is of;
// an arm of which every run diverged, two or more, is worse than one of which none did.
// p: of "worse by the margin", the largest over the budgets.
#include <algorithm>
#include <cmath>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/paired.h"

namespace normbench {
namespace {

struct AtBudget {
  int64_t budget;
  Effect worse_by;  // d
};

// Two-sided, as every p of a ledger: below alpha exactly where the interval ends below the margin.
double p_of_margin(const Effect& worse_by, double margin) {
  std::vector<double> room;
  for (const double d : worse_by.values) room.push_back(margin - d);
  return mean(room) > 0 ? t_test_p(room) : 1;
}

bool passes(const Effect& worse_by, double margin, double alpha) {
  if (worse_by.values.empty()) return gap_reversed(worse_by, alpha);
  return worse_by.has_interval && worse_by.interval.high < margin;
}

bool is_excluded(const Effect& worse_by, double margin, double alpha) {
  if (worse_by.values.empty()) return gap_holds(worse_by);
  return worse_by.has_interval && worse_by.bounded_above == 0 &&
         t_interval(worse_by.values, alpha).low > margin;
}

Json row_of(int64_t budget, const PairedLosses& pairs, const Effect& worse_by) {
  Json row = paired_row(budget, pairs);
  if (worse_by.bounded_below > 0) row["bound"] = ">=";
  if (worse_by.bounded_above > 0) row["bound"] = worse_by.bounded_below > 0 ? "open" : "<=";
  if (!worse_by.values.empty()) row["estimate"] = worse_by.mean;
  if (std::isfinite(worse_by.interval.low)) row["low"] = worse_by.interval.low;
  if (std::isfinite(worse_by.interval.high)) row["high"] = worse_by.interval.high;
  return row;
}

// Decimals that tell the ends of the interval from the margin.
int digits_of(const Effect& worse_by, double margin) {
  return std::max(digits_apart(worse_by.interval.low, margin, 3),
                  digits_apart(worse_by.interval.high, margin, 3));
}

// "it is worse by 0.034 nats (interval 0.010 .. 0.058)"; a number below 0 is not called worse.
std::string worse_text(const Effect& worse_by, double margin) {
  if (worse_by.values.empty()) return "every run of the reference diverged";
  const int digits = digits_of(worse_by, margin);
  const auto end = [&](double x) {
    return std::isfinite(x) ? fixed(x, digits) : std::string("open");
  };
  const bool better = worse_by.mean < 0;
  return std::string("it is ") + (better ? "better" : "worse") + " by " +
         fixed(std::abs(worse_by.mean), digits) + " nats (interval " + end(worse_by.interval.low) +
         " .. " + end(worse_by.interval.high) + (better ? ", where above 0 is worse)" : ")");
}

// How far the margin is from being kept: where no interval can be had, farthest.
double upper_end(const AtBudget& at) {
  return at.worse_by.values.empty() && gap_reversed(at.worse_by, 1)
             ? -std::numeric_limits<double>::infinity()
             : at.worse_by.interval.high;
}

}  // namespace

Verdict rule_non_inferiority(const Claim& claim, const Evidence& evidence,
                             const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  verdict.unit = "nats";
  const double alpha = evidence.input.alpha, margin = *claim.margin_nats;
  verdict.detail = {{"margin", margin}};
  verdict.budgets = evidence.common_budgets(claim.arms, dataset);
  const double shared = alpha / static_cast<double>(std::max<size_t>(1, verdict.budgets.size()));

  std::vector<AtBudget> all;
  for (const int64_t budget : verdict.budgets) {
    const PairedLosses pairs =
        paired_losses(evidence, claim.challenger, claim.reference, dataset, budget);
    all.push_back({budget, gap_effect(pairs, alpha)});
    verdict.per_budget.push_back(row_of(budget, pairs, all.back().worse_by));
  }
  const auto excluded = std::find_if(all.begin(), all.end(), [&](const AtBudget& at) {
    return is_excluded(at.worse_by, margin, shared);
  });
  const bool all_pass =
      !all.empty() && std::all_of(all.begin(), all.end(), [&](const AtBudget& at) {
        return passes(at.worse_by, margin, alpha);
      });
  verdict.statistics_say = excluded != all.end() ? Outcome::kNotReproduced
                           : all_pass            ? Outcome::kReproduced
                                                 : Outcome::kInconclusive;
  // What is shown: the budget that decided against the claim, or else the one that is nearest to
  // it.
  const auto shown = excluded != all.end() ? excluded
                                           : std::max_element(all.begin(), all.end(),
                                                              [](const auto& a, const auto& b) {
                                                                return upper_end(a) < upper_end(b);
                                                              });
  std::string measured = "Fewer than 2 pairs have both losses, so there is no interval.";
  if (shown != all.end()) {
    const Effect& d = shown->worse_by;
    size_t fewest = d.values.size();
    bool open = false;
    for (const auto& at : all) {
      fewest = std::min(fewest, at.worse_by.values.size());
      open = open || at.worse_by.open() || !at.worse_by.has_interval;
    }
    verdict.pairs = static_cast<int>(fewest);
    if (d.values.size() >= 2)
      verdict.facts.push_back("loss above the reference's at " +
                              tokens_text(static_cast<double>(shown->budget)) + " tokens, nats, " +
                              by_seed_text(d.values));
    if (!d.values.empty()) verdict.estimate = d.mean;
    if (std::isfinite(d.interval.low)) verdict.low = d.interval.low;
    if (std::isfinite(d.interval.high)) verdict.high = d.interval.high;
    if (!open) {
      verdict.detectable = minimum_detectable_effect(d.s, static_cast<int>(d.values.size()), alpha);
      verdict.p_value = 0;
      for (const auto& at : all)
        verdict.p_value = std::max(*verdict.p_value, p_of_margin(at.worse_by, margin));
    }
    const std::string at_worst = "at " + tokens_text(static_cast<double>(shown->budget)) +
                                 " tokens " + worse_text(d, margin);
    const bool only_shared = d.has_interval && d.interval.low > margin &&
                             verdict.statistics_say == Outcome::kInconclusive;
    const double shared_low = only_shared ? t_interval(d.values, shared).low : margin;
    const int digits = std::max(digits_of(d, margin), digits_apart(shared_low, margin, 3));
    const std::string the_margin = "the margin of " + fixed(margin, digits);
    if (verdict.statistics_say == Outcome::kNotReproduced) {
      measured = "The challenger is worse by more than " + the_margin + ": " +
                 (d.values.empty() ? "every run of it diverged, none of the other" : at_worst) +
                 ".";
    } else if (verdict.statistics_say == Outcome::kReproduced) {
      measured = (d.has_interval ? "At every budget the interval ends below "
                                 : "At every budget the challenger stays below ") +
                 the_margin + "; at the worst one, " + at_worst + ".";
    } else if (d.has_interval) {
      measured = "The interval does not exclude " + the_margin + ": " + at_worst;
      if (only_shared)
        measured = "The interval lies above " + the_margin + ", the one with alpha shared by the " +
                   std::to_string(all.size()) + " budgets (from " + fixed(shared_low, digits) +
                   ") does not: " + at_worst;
      // Every budget has to pass, and pairs that a diverged run of the challenger opened stay open;
      // one budget that is worse by more than the margin denies the claim alone.
      const bool may_be_equal = std::all_of(all.begin(), all.end(), [](const AtBudget& at) {
        return at.worse_by.has_interval && at.worse_by.interval.low <= 0;
      });
      std::vector<std::optional<PairsNeeded>> needed;
      for (const auto& [budget, of] : all) {
        const double room = margin - (may_be_equal ? 0 : of.mean);
        needed.emplace_back();
        if (!of.has_interval || of.bounded_below > 0) continue;
        needed.back() = {.n = pairs_needed(room, of.s, room > 0 ? alpha : shared),
                         .alone = room <= 0};
        if (may_be_equal) needed.back()->if_true = "the arms are equal";
      }
      const auto most = most_pairs(needed);
      if (!most || most->n > verdict.pairs) measured += pairs_needed_text(most);
      if (most && most->n > verdict.pairs) verdict.pairs_needed = most->n;
      measured += ".";
    }
  }
  measured += diverged_text(verdict);
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
