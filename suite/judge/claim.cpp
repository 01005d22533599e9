#include "suite/judge/claim.h"

#include <algorithm>
#include <array>

#include "suite/judge/text.h"

namespace normbench {
namespace {

enum class Needs { kPublished, kMargin };

struct Rule {
  const char* name;
  Needs needs;
  Verdict (*judge)(const Claim&, const Evidence&, const std::string&);
};

// Sorted by name.
constexpr std::array<Rule, 3> kRules = {{
    {"loss_difference", Needs::kPublished, rule_loss_difference},
    {"non_inferiority", Needs::kMargin, rule_non_inferiority},
    {"speed_up", Needs::kPublished, rule_speed_up},
}};

const Rule& find_rule(const std::string& name) {
  for (const auto& rule : kRules)
    if (name == rule.name) return rule;
  throw UserError({.what = "unknown rule", .found = "\"" + name + "\""});
}

void require_known(const JsonObject& object, const std::string& key, const std::string& found,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), found) != known.end()) return;
  const std::string hint = nearest(found, known);
  object.fail(key, "unknown " + key, "\"" + found + "\"", "one of: " + join(known, ", "),
              hint.empty() ? "" : "did you mean \"" + hint + "\"?");
}

void read_published(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  const auto pointer = object.required<std::string>("published");
  const std::string file = "baselines/published/" + input.paper + ".json";
  const Json* entry = nullptr;
  try {
    entry = &input.published.at(Json::json_pointer(pointer));
  } catch (const Json::exception&) {
    object.fail("published", "no such published number", "\"" + pointer + "\"",
                "a JSON pointer into " + file);
  }
  if (!entry->is_object() || !entry->contains("value") || !(*entry)["value"].is_number() ||
      !entry->contains("unit"))
    object.fail("published", "not a published number", "\"" + pointer + "\" in " + file,
                "an object with \"value\" and \"unit\"");
  claim.published = *entry;
  claim.value = (*entry)["value"].get<double>();
  claim.unit = (*entry)["unit"].get<std::string>();
}

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

std::vector<std::string> names_of(const std::vector<ArmInfo>& arms) {
  std::vector<std::string> names;
  for (const auto& arm : arms) names.push_back(arm.name);
  return names;
}

}  // namespace

std::vector<Claim> read_claims(const JudgeInput& input) {
  std::vector<std::string> rules, ids;
  for (const auto& rule : kRules) rules.push_back(rule.name);
  const auto arms = names_of(input.arms);
  const Json table{{"claims", input.claims}};
  std::vector<Claim> claims;
  JsonObject(table, input.table_file).for_each_element("claims", [&](const JsonObject& object) {
    Claim claim;
    claim.id = object.required<std::string>("id");
    if (std::find(ids.begin(), ids.end(), claim.id) != ids.end())
      object.fail("id", "two claims have one id", "\"" + claim.id + "\"");
    ids.push_back(claim.id);
    claim.statement = object.required<std::string>("statement");
    claim.rule = object.required<std::string>("rule");
    require_known(object, "rule", claim.rule, rules);
    claim.challenger = object.required<std::string>("challenger");
    require_known(object, "challenger", claim.challenger, arms);
    claim.reference = object.required<std::string>("reference");
    require_known(object, "reference", claim.reference, arms);
    claim.conditions = object.optional<std::string>("conditions", "");
    if (object.has("scale")) claim.scale = object.raw("scale");
    claim.out_of_scale = read_out_of_scale(object, input.tier);
    claim.datasets = object.optional<std::vector<std::string>>("datasets", input.datasets);
    if (find_rule(claim.rule).needs == Needs::kPublished) {
      read_published(claim, object, input);
    } else {
      claim.margin_nats = object.required<double>("margin_nats");
      if (!(*claim.margin_nats > 0))
        object.fail("margin_nats", "a margin that nothing can pass",
                    object.raw("margin_nats").dump(), "a number above 0");
      if (object.has("published")) read_published(claim, object, input);
    }
    const auto tiers = object.optional<std::vector<std::string>>("tiers", {});
    object.ignore("note");
    object.finish();
    if (tiers.empty() || std::find(tiers.begin(), tiers.end(), input.tier) != tiers.end())
      claims.push_back(std::move(claim));
  });
  return claims;
}

Verdict judge_claim(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  return find_rule(claim.rule).judge(claim, evidence, dataset);
}

Verdict begin_verdict(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict;
  verdict.claim = claim.id;
  verdict.statement = claim.statement;
  verdict.conditions = claim.conditions;
  verdict.rule = claim.rule;
  verdict.challenger = claim.challenger;
  verdict.reference = claim.reference;
  verdict.dataset = dataset;
  verdict.paper = claim.published;
  verdict.seeds = evidence.pairs(claim.challenger, claim.reference, dataset);
  verdict.planned_pairs = static_cast<int>(verdict.seeds.size());
  for (const auto& arm : {claim.challenger, claim.reference})
    verdict.trials[arm] = evidence.tuning.trials(arm, dataset);
  for (const auto& record : evidence.runs) {
    if (record.run.dataset != dataset ||
        (record.run.arm != claim.challenger && record.run.arm != claim.reference))
      continue;
    if (!record.usable())
      verdict.missing.push_back(record.run.name + " is " + record_state_name(record.state) + ": " +
                                record.reason);
    else if (record.diverged())
      verdict.diverged.push_back(record.run.name + " at step " +
                                 record.summary.value("diverged_at_step", Json("?")).dump());
  }
  for (const auto& arm : {claim.challenger, claim.reference})
    if (!evidence.arm(arm).warning.empty())
      verdict.notes.push_back(evidence.arm(arm).label +
                              " is a warning row: " + evidence.arm(arm).warning);
  return verdict;
}

void finish_verdict(Verdict& verdict, const Claim& claim, const Evidence& evidence,
                    const std::string& measured, bool timed) {
  const std::string would_say = " (The runs alone say " +
                                std::string(outcome_name(verdict.statistics_say)) + ": " +
                                measured + ")";
  size_t planned = 0;
  for (const auto& record : evidence.runs)
    planned += record.run.dataset == verdict.dataset &&
               (record.run.arm == claim.challenger || record.run.arm == claim.reference);
  const auto untuned =
      evidence.tuning.problems(evidence.input, claim.challenger, claim.reference, verdict.dataset);
  const std::string preliminary =
      verdict.pairs >= 2 ? " (" + count_text(static_cast<size_t>(verdict.pairs), "pair") +
                               " so far: " + measured + ")"
                         : "";
  if (verdict.planned_pairs == 0) {
    verdict.outcome = verdict.statistics_say = Outcome::kNotRun;
    verdict.reason = "This tier plans no pair of " + claim.challenger + " and " + claim.reference +
                     " on " + verdict.dataset + ".";
  } else if (!verdict.missing.empty()) {
    verdict.outcome = Outcome::kNotRun;
    verdict.reason =
        std::to_string(verdict.missing.size()) + " of " + count_text(planned, "run") +
        (verdict.missing.size() == 1 ? " cannot be read; " : " cannot be read; the first: ") +
        verdict.missing.front() + "." + preliminary;
  } else if (!claim.out_of_scale.empty()) {
    verdict.outcome = Outcome::kOutOfScale;
    verdict.reason = claim.out_of_scale + would_say;
  } else if (timed && !evidence.input.machine_unfit.empty()) {
    verdict.outcome = Outcome::kMachineUnfit;
    verdict.reason = evidence.input.machine_unfit + would_say;
  } else if (!untuned.empty()) {
    verdict.outcome = Outcome::kBaselineUntuned;
    verdict.reason =
        "Not a comparison of tuned arms: " + untuned.front() +
        (untuned.size() > 1 ? ", and " + count_text(untuned.size() - 1, "more reason") : "") + "." +
        would_say;
    for (const auto& problem : untuned) verdict.notes.push_back(problem);
  } else {
    verdict.outcome = verdict.statistics_say;
    verdict.reason = measured;
  }
}

}  // namespace normbench
