#include "suite/judge/claim.h"

#include <algorithm>
#include <set>

#include "suite/base/names.h"
#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"

namespace normbench {
namespace {

// "out_of_scale": "why" holds in every tier below the paper's own; {"why", "tiers": [...]} in the
// named ones.
std::string read_out_of_scale(const JsonObject& object, const std::string& tier) {
  if (!object.has("out_of_scale")) return "";
  if (object.raw("out_of_scale").is_string())
    return tier == "paper" ? "" : object.required<std::string>("out_of_scale");
  const JsonObject limits = object.object("out_of_scale");
  const auto why = limits.required<std::string>("why");
  const auto tiers = limits.required<std::vector<std::string>>("tiers");
  limits.finish();
  return std::find(tiers.begin(), tiers.end(), tier) == tiers.end() ? "" : why;
}

std::string rule_of(const JsonObject& object) {
  std::vector<std::string> names;
  for (const auto& rule : rules()) names.push_back(rule.name);
  const auto name = object.required<std::string>("rule");
  require_known(object, "rule", "unknown rule", name, names);
  return name;
}

std::string read_id(const JsonObject& object, const std::vector<std::string>& taken) {
  const auto id = object.required<std::string>("id");
  if (!is_plain_name(id)) object.fail("id", "not the id of a claim", Json(id).dump(), kPlainName);
  if (std::find(taken.begin(), taken.end(), id) != taken.end())
    object.fail("id", "two claims have one id", "\"" + id + "\"");
  return id;
}

// A warning row shows how a choice inflates a result. A verdict about it would be that result.
void refuse_warning_rows(const Claim& claim, const JsonObject& object, const JudgeInput& input) {
  for (const auto& arm : input.arms)
    if (!arm.warning.empty() && is_one_of(arm.name, claim.arms))
      object.fail("", "claim " + claim.id + " is about a warning row, which is never judged",
                  "\"" + arm.name + "\"", "arms without the key \"warning\"");
}

// "no pair of angpt and gpt_plus", "no run of ngpt", "no seed that a, b and c share".
std::string nothing_planned(const Claim& claim) {
  if (!claim.measurement.empty()) return "no run of measurement " + claim.measurement;
  if (claim.arms.size() == 1) return "no run of " + claim.arms.front();
  if (claim.arms.size() == 2) return "no pair of " + claim.challenger + " and " + claim.reference;
  return "no seed with all of " + join(claim.arms, ", ");
}

// One verdict for all settings at once.
bool spans_settings(const Claim& claim) {
  const Reads reads = reads_of(claim);
  return reads == Reads::kAllSettings || reads == Reads::kAllSweeps;
}

/// The settings whose runs a verdict on `dataset` reads.
std::vector<std::string> settings_of(const Claim& claim, const std::string& dataset) {
  return spans_settings(claim) ? claim.settings : std::vector{dataset};
}

// Whether the claim compares arms at their best rates.
bool asks_for_tuning(const Claim& claim) {
  return find_rule(claim.rule).tuned && claim.fixed_rates.empty() && !claim.arms.empty();
}

// What a reader should know of rates that count as tuned.
std::vector<std::string> doubts_of_tuned(const Claim& claim, const Evidence& evidence,
                                         const std::vector<std::string>& settings) {
  std::vector<std::string> doubts;
  if (!asks_for_tuning(claim)) return doubts;
  for (const auto& setting : settings)
    for (const auto& arm : claim.arms) {
      if (const double times = evidence.tuning.reach(evidence.input, arm, setting); times > 1)
        doubts.push_back("the rates of " + arm + " on " + setting + " serve up to " +
                         plain_text(times) + " times the tokens of their longest sweep");
      for (const auto* point : evidence.tuning.of(arm, setting))
        doubts.insert(doubts.end(), point->doubts.begin(), point->doubts.end());
    }
  return doubts;
}

std::vector<int64_t> planned_seeds(const Claim& claim, const Evidence& evidence,
                                   const std::string& dataset) {
  switch (reads_of(claim)) {
    case Reads::kRuns:
      return evidence.common_seeds(claim.arms, dataset);
    case Reads::kMeasurement:
      return evidence.measurement_seeds(claim.measurement);
    default:
      break;
  }
  std::vector<int64_t> seeds;
  for (const auto* record : records_of(claim, evidence, dataset)) seeds.push_back(record->run.seed);
  std::sort(seeds.begin(), seeds.end());
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  return seeds;
}

}  // namespace

std::vector<Claim> read_claims(const JudgeInput& input) {
  std::vector<std::string> ids;
  const Json table{{"claims", input.claims}};
  std::vector<Claim> claims;
  JsonObject(table, input.table_file).for_each_element("claims", [&](const JsonObject& object) {
    Claim claim;
    claim.id = read_id(object, ids);
    ids.push_back(claim.id);
    claim.statement = object.required<std::string>("statement");
    claim.rule = rule_of(object);
    claim.conditions = object.optional<std::string>("conditions", "");
    claim.out_of_scale = read_out_of_scale(object, input.tier);
    claim.fixed_rates = object.optional<std::string>("fixed_rates", "");
    find_rule(claim.rule).read(claim, object, input);
    refuse_warning_rows(claim, object, input);
    claim.settings = claim.measurement.empty() && claim.points.is_null()
                         ? object.optional<std::vector<std::string>>("datasets", input.datasets)
                         : std::vector<std::string>();
    if (!claim.measurement.empty()) claim.datasets = {claim.measurement};
    if (claim.datasets.empty()) claim.datasets = claim.settings;
    const auto tiers = object.optional<std::vector<std::string>>("tiers", {});
    object.ignore("note");
    object.finish();
    // A table shows one list of largest stable rates.
    for (const auto& other : claims)
      if (claim.stable_within_nats && other.stable_within_nats &&
          *claim.stable_within_nats != *other.stable_within_nats)
        object.fail("stable_within_nats", "two claims of a table mean different things by stable",
                    Json(*claim.stable_within_nats).dump(),
                    Json(*other.stable_within_nats).dump() + ", as in " + other.id);
    if (tiers.empty() || is_one_of(input.tier, tiers)) claims.push_back(std::move(claim));
  });
  return claims;
}

Verdict judge_claim(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  return find_rule(claim.rule).judge(claim, evidence, dataset);
}

std::vector<const Record*> records_of(const Claim& claim, const Evidence& evidence,
                                      const std::string& dataset) {
  const Reads reads = reads_of(claim);
  std::vector<const Record*> found;
  const bool trials = reads == Reads::kSweep || reads == Reads::kAllSweeps;
  for (const auto& record : trials ? evidence.sweep : evidence.runs) {
    const RunRef& run = record.run;
    const bool read = reads == Reads::kMeasurement
                          ? record.is_measurement() && run.arm == claim.measurement
                          : !record.is_measurement() && is_one_of(run.arm, claim.arms) &&
                                is_one_of(run.dataset, settings_of(claim, dataset));
    if (read) found.push_back(&record);
  }
  return found;
}

bool keeps_runs_alone(const Claim& claim, const Verdict& verdict) {
  return verdict.outcome == Outcome::kOutOfScale && !find_rule(claim.rule).of_seconds;
}

std::vector<const Record*> trials_of(const Claim& claim, const Evidence& evidence,
                                     const std::string& dataset) {
  std::vector<const Record*> found;
  if (!asks_for_tuning(claim)) return found;
  const auto settings = settings_of(claim, dataset);
  for (const auto& record : evidence.sweep)
    if (is_one_of(record.run.arm, claim.arms) && is_one_of(record.run.dataset, settings))
      found.push_back(&record);
  return found;
}

Verdict begin_verdict(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict;
  verdict.claim = claim.id;
  verdict.statement = claim.statement;
  verdict.conditions = claim.conditions;
  verdict.rule = claim.rule;
  verdict.challenger = claim.challenger;
  verdict.reference = claim.reference;
  verdict.arms = claim.arms;
  verdict.measurement = claim.measurement;
  verdict.dataset = dataset;
  verdict.paper = claim.published;
  verdict.seeds = planned_seeds(claim, evidence, dataset);
  verdict.planned_pairs = static_cast<int>(verdict.seeds.size());
  for (const auto& arm : claim.arms)
    for (const auto& setting : settings_of(claim, dataset))
      verdict.trials[arm] = verdict.trials.value(arm, 0) + evidence.tuning.trials_run(arm, setting);
  if (!claim.fixed_rates.empty()) verdict.notes.push_back("rates: " + claim.fixed_rates);
  std::set<std::string> classes;
  for (const auto* record : records_of(claim, evidence, dataset)) {
    if (!record->usable()) {
      verdict.missing.push_back(unusable_text(*record));
      continue;
    }
    classes.insert(record->numeric_class());
    if (record->diverged())
      verdict.diverged.push_back(record->run.name + " at step " +
                                 record->summary.value("diverged_at_step", Json("?")).dump());
  }
  if (classes.size() > 1)
    verdict.notes.push_back("runs of " + std::to_string(classes.size()) + " numeric classes (" +
                            join({classes.begin(), classes.end()}, ", ") +
                            "): equal to the canary's tolerance, not to the last bit");
  return verdict;
}

std::string within_text(const Verdict& verdict, const Claim& claim) {
  const std::string paper =
      "the paper's " + plain_text(*claim.value) + " +- " + plain_text(*claim.tolerance);
  const std::string interval = verdict.low ? " (interval " + plain_text(*verdict.low) + " .. " +
                                                 plain_text(*verdict.high) + ")"
                                           : ", without an interval";
  switch (verdict.statistics_say) {
    case Outcome::kReproduced:
      return interval + ", inside " + paper + ".";
    case Outcome::kDirectionOnly:
      return interval + ": the sign holds, " + paper + " is outside.";
    case Outcome::kNotReproduced:
      return interval + ", outside " + paper + ".";
    default:
      return interval + (verdict.low ? ", partly inside " : ", against ") + paper + ".";
  }
}

std::string diverged_text(const Verdict& verdict) {
  return verdict.diverged.empty() ? ""
                                  : " " + count_text(verdict.diverged.size(), "run") + " diverged.";
}

void finish_verdict(Verdict& verdict, const Claim& claim, const Evidence& evidence,
                    const std::string& measured, std::vector<std::string> untuned) {
  const std::string would_say = " (The runs alone say " +
                                std::string(outcome_name(verdict.statistics_say)) + ": " +
                                measured + ")";
  const size_t planned = records_of(claim, evidence, verdict.dataset).size();
  const auto settings = settings_of(claim, verdict.dataset);
  if (asks_for_tuning(claim))
    for (const auto& setting : settings)
      for (auto& problem : evidence.tuning.problems(evidence.input, claim.arms, setting))
        untuned.push_back(std::move(problem));
  const std::string preliminary = verdict.pairs >= 2 && claim.arms.size() > 1
                                      ? " (" +
                                            count_text(static_cast<size_t>(verdict.pairs),
                                                       claim.arms.size() == 2 ? "pair" : "seed") +
                                            " so far: " + measured + ")"
                                      : "";
  const bool unplanned = verdict.planned_pairs == 0 && reads_of(claim) != Reads::kNothing;
  // Also of OUT_OF_SCALE and MACHINE_UNFIT: what the runs alone say is not of tuned arms either.
  if (!unplanned && verdict.missing.empty()) {
    const auto notes = untuned.empty() ? doubts_of_tuned(claim, evidence, settings) : untuned;
    verdict.notes.insert(verdict.notes.end(), notes.begin(), notes.end());
  }
  if (unplanned) {
    verdict.outcome = verdict.statistics_say = Outcome::kNotRun;
    verdict.reason = "This tier plans " + nothing_planned(claim) +
                     (claim.measurement.empty() ? " on " + verdict.dataset : "") + ".";
  } else if (!verdict.missing.empty()) {
    verdict.outcome = Outcome::kNotRun;
    verdict.reason =
        std::to_string(verdict.missing.size()) + " of " + count_text(planned, "run") +
        (verdict.missing.size() == 1 ? " cannot be read; " : " cannot be read; the first: ") +
        verdict.missing.front() + "." + preliminary;
  } else if (!claim.out_of_scale.empty()) {
    verdict.outcome = Outcome::kOutOfScale;
    verdict.reason = claim.out_of_scale + would_say;
  } else if (!verdict.machine_unfit.empty()) {
    verdict.outcome = Outcome::kMachineUnfit;
    verdict.reason = verdict.machine_unfit + would_say;
  } else if (!untuned.empty()) {
    verdict.outcome = Outcome::kBaselineUntuned;
    verdict.reason =
        "Not a comparison of tuned arms: " + untuned.front() +
        (untuned.size() > 1 ? ", and " + count_text(untuned.size() - 1, "more reason") : "") + "." +
        would_say;
  } else {
    verdict.outcome = verdict.statistics_say;
    verdict.reason = measured;
  }
}

}  // namespace normbench
