#include "suite/judge/claim_rules.h"

#include <algorithm>

#include "suite/base/names.h"
#include "suite/base/text.h"

namespace normbench {
namespace {

std::vector<std::string> arm_names(const JudgeInput& input) {
  std::vector<std::string> names;
  for (const auto& arm : input.arms) names.push_back(arm.name);
  return names;
}

std::string read_arm(const JsonObject& object, const std::string& key, const JudgeInput& input) {
  const auto name = object.required<std::string>(key);
  require_known(object, key, "unknown " + key, name, arm_names(input));
  return name;
}

double read_positive(const JsonObject& object, const std::string& key) {
  const auto value = object.required<double>(key);
  if (!(value > 0))
    object.fail(
        key,
        key == "margin_nats" ? "a margin that nothing can pass" : "a limit that nothing can keep",
        object.raw(key).dump(), "a number above 0");
  return value;
}

// `units`: what the rule can compare; empty: it compares nothing with the number and only shows it.
void read_published(Claim& claim, const JsonObject& object, const JudgeInput& input,
                    const std::vector<std::string>& units = {}) {
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
      !entry->contains("unit") || !(*entry)["unit"].is_string())
    object.fail("published", "not a published number", "\"" + pointer + "\" in " + file,
                "an object with \"value\" and \"unit\"");
  claim.published = *entry;
  claim.value = (*entry)["value"].get<double>();
  claim.unit = (*entry)["unit"].get<std::string>();
  if (!units.empty() && std::find(units.begin(), units.end(), claim.unit) == units.end())
    object.fail("published", "rule " + claim.rule + " cannot read the published unit",
                "\"" + claim.unit + "\" of " + pointer, join(units, " or "));
}

void read_ratio(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_published(claim, object, input, {"ratio"});
  if (!(*claim.value > 0) || *claim.value == 1)
    object.fail("published", "rule " + claim.rule + " needs a published effect",
                Json(*claim.value).dump() + " ratio", "a ratio above 0 that is not 1");
}

void read_pair(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.challenger = read_arm(object, "challenger", input);
  claim.reference = read_arm(object, "reference", input);
  claim.arms = {claim.challenger, claim.reference};
}

void read_loss_difference(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_pair(claim, object, input);
  read_published(claim, object, input, {"nats", "ratio", "percent"});
  // The losses' ratio that the number stands for must have a logarithm that is not 0.
  const double value = *claim.value;
  const bool effect = claim.unit == "nats"    ? value != 0
                      : claim.unit == "ratio" ? value > 0 && value != 1
                                              : value != 0 && value < 100;
  if (!effect)
    object.fail(
        "published", "rule loss_difference needs a published effect",
        Json(value).dump() + " " + claim.unit,
        "nats other than 0, a ratio above 0 other than 1, or percent below 100 other than 0",
        "for \"no difference\" use non_inferiority with a margin");
}

void read_non_inferiority(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_pair(claim, object, input);
  claim.margin_nats = read_positive(object, "margin_nats");
  if (object.has("published")) read_published(claim, object, input);
}

void read_ordering(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.arms = object.required<std::vector<std::string>>("arms");
  for (size_t i = 0; i < claim.arms.size(); ++i) {
    require_known(object, "arms", "unknown arms", claim.arms[i], arm_names(input));
    if (std::count(claim.arms.begin(), claim.arms.end(), claim.arms[i]) > 1)
      object.fail("arms", "an arm stands twice in the order", "\"" + claim.arms[i] + "\"");
  }
  if (claim.arms.size() < 2)
    object.fail("arms", "an order of less than two", object.raw("arms").dump(),
                "two arms or more, the worst first");
  claim.challenger = claim.arms.back();
  claim.reference = claim.arms.front();
}

void read_gap_growth(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_pair(claim, object, input);
  claim.of = object.required<std::string>("of");
  require_known(object, "of", "unknown of", claim.of, {"train", "validation"});
  if (!object.has("published")) return;
  read_published(claim, object, input, {"nats"});
  if (!(*claim.value > 0))
    object.fail("published", "rule gap_growth needs a gap that grows",
                Json(*claim.value).dump() + " nats", "a number above 0");
}

void read_below_unigram(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.challenger = read_arm(object, "challenger", input);
  claim.arms = {claim.challenger};
}

void read_speed_up(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_pair(claim, object, input);
  read_ratio(claim, object, input);
}

void read_divergence_expected(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.challenger = read_arm(object, "challenger", input);
  claim.arms = {claim.challenger};
  if (object.has("loss_above")) claim.loss_above = read_positive(object, "loss_above");
}

void read_lr_tolerance(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_pair(claim, object, input);
  claim.stable_within_nats = read_positive(object, "stable_within_nats");
  read_ratio(claim, object, input);
}

void read_measurement(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.measurement = object.required<std::string>("measurement");
  std::vector<std::string> known;
  for (const auto& measurement : input.measurements) known.push_back(measurement.name);
  require_known(object, "measurement", "unknown measurement", claim.measurement, known);
}

void require_seconds(const JsonObject& object, const std::string& key, const std::string& name) {
  if (!name.ends_with("_seconds"))
    object.fail(key, "rule time_ratio compares seconds", "\"" + name + "\"",
                "a value whose name ends in _seconds");
}

void read_time_ratio(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  if (object.has("measurement")) {
    read_measurement(claim, object, input);
    claim.measured_value = object.required<std::string>("value");
    claim.over = object.required<std::string>("over");
    require_seconds(object, "value", claim.measured_value);
    require_seconds(object, "over", claim.over);
  } else {
    read_pair(claim, object, input);
  }
  read_ratio(claim, object, input);
}

void read_fitted_exponent(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_measurement(claim, object, input);
  claim.x = object.required<std::string>("x");
  claim.y = object.required<std::string>("y");
  if (object.has("where")) {
    claim.where = object.raw("where");
    if (!claim.where.is_object())
      object.fail("where", "wrong type", claim.where.dump(), "an object {column: value}");
  }
  read_published(claim, object, input, {"exponent"});
  claim.tolerance = read_positive(object, "tolerance");
}

void read_exact_identity(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  read_measurement(claim, object, input);
  claim.measured_value = object.required<std::string>("value");
  claim.tolerance = read_positive(object, "tolerance");
}

void read_rate_exponent(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  claim.challenger = read_arm(object, "arm", input);
  claim.arms = {claim.challenger};
  claim.datasets = {"all settings"};
  claim.of = object.required<std::string>("of");
  require_known(object, "of", "unknown of", claim.of, {"tokens", "width"});
  read_published(claim, object, input, {"exponent"});
  claim.tolerance = read_positive(object, "tolerance");
}

// A JSON pointer in which * stands for every member of an object.
void collect_points(const Json& from, const std::vector<std::string>& steps, size_t at, Json& to) {
  if (at == steps.size()) {
    if (from.is_array())
      for (const auto& point : from) to.push_back(point);
    return;
  }
  if (!from.is_object()) return;
  for (const auto& [key, value] : from.items())
    if (steps[at] == "*" || steps[at] == key) collect_points(value, steps, at + 1, to);
}

void read_scaling_fit(Claim& claim, const JsonObject& object, const JudgeInput& input) {
  if (object.has("arm") == object.has("points"))
    object.fail("arm", "rule scaling_fit fits either an arm's runs or published points",
                object.has("arm") ? "both" : "neither", "one of the keys arm and points");
  claim.law = object.required<std::string>("law");
  require_known(object, "law", "unknown law", claim.law,
                {"batch_of_parameters", "loss_of_compute", "parameters_of_compute",
                 "rate_of_parameters", "tokens_of_compute"});
  // Of the laws of size: what their points and their factor count. No run of ours has a best batch.
  const std::string of_size = claim.law == "batch_of_parameters"  ? "sequences"
                              : claim.law == "rate_of_parameters" ? "rate"
                                                                  : "";
  if (object.has("arm")) {
    if (!of_size.empty())
      object.fail("law", "a law that is fitted to published points alone", claim.law,
                  "the key points in place of arm, or a law of compute");
    claim.challenger = read_arm(object, "arm", input);
    claim.arms = {claim.challenger};
    claim.datasets = {"all settings"};
  } else {
    const auto pointer = object.required<std::string>("points");
    std::vector<std::string> steps;
    for (size_t at = 0; at < pointer.size();) {
      const size_t end = std::min(pointer.find('/', at + 1), pointer.size());
      steps.push_back(pointer.substr(at + 1, end - at - 1));
      at = end;
    }
    claim.points = Json::array();
    collect_points(input.published, steps, 0, claim.points);
    std::vector<const char*> needed = {"value", "parameters"};
    if (of_size.empty()) needed.insert(needed.end(), {"tokens", "embedding_parameters"});
    for (const auto& point : claim.points) {
      for (const char* key : needed)
        if (!point.contains(key) || !point[key].is_number())
          object.fail("points", std::string("a published point without ") + key, point.dump());
      if (!of_size.empty() && point.value("unit", "") != of_size)
        object.fail("points", "not a point of law " + claim.law, point.dump(),
                    "points in " + of_size);
    }
    if (claim.points.size() < 3)
      object.fail("points", "too few published points for a fit",
                  std::to_string(claim.points.size()) + " at \"" + pointer + "\"",
                  "3 or more; * in the pointer stands for every member");
    claim.datasets = {"published points"};
  }
  // An exponent, or else the factor: of a loss in nats, of tokens or parameters a coefficient.
  read_published(claim, object, input,
                 of_size.empty() ? std::vector<std::string>{"exponent", "coefficient", "nats"}
                                 : std::vector<std::string>{"exponent", of_size});
  claim.tolerance = read_positive(object, "tolerance");
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"below_unigram", read_below_unigram, rule_below_unigram, Reads::kRuns},
      {"crossing", read_pair, rule_crossing, Reads::kRuns, /*tuned=*/true, /*p_of_no_effect=*/true},
      {"divergence_expected", read_divergence_expected, rule_divergence_expected, Reads::kRuns},
      {"exact_identity", read_exact_identity, rule_exact_identity, Reads::kMeasurement},
      {"fitted_exponent", read_fitted_exponent, rule_fitted_exponent, Reads::kMeasurement},
      {"gap_growth", read_gap_growth, rule_gap_growth, Reads::kRuns, true, true},
      {"loss_difference", read_loss_difference, rule_loss_difference, Reads::kRuns, true, true},
      {"lr_tolerance", read_lr_tolerance, rule_lr_tolerance, Reads::kSweep},
      {"non_inferiority", read_non_inferiority, rule_non_inferiority, Reads::kRuns, true},
      {"ordering", read_ordering, rule_ordering, Reads::kRuns, true, true},
      {"rate_exponent", read_rate_exponent, rule_rate_exponent, Reads::kAllSweeps},
      {"scaling_fit", read_scaling_fit, rule_scaling_fit, Reads::kAllSettings, true},
      {"speed_up", read_speed_up, rule_speed_up, Reads::kRuns, true, true},
      {"time_ratio", read_time_ratio, rule_time_ratio, Reads::kRuns, false, true, true},
  };
  return all;
}

const Rule& find_rule(const std::string& name) {
  for (const auto& rule : rules())
    if (name == rule.name) return rule;
  throw UserError({.what = "unknown rule", .found = "\"" + name + "\""});
}

Reads reads_of(const Claim& claim) {
  if (!claim.measurement.empty()) return Reads::kMeasurement;
  if (!claim.points.is_null()) return Reads::kNothing;
  return find_rule(claim.rule).reads;
}

}  // namespace normbench
