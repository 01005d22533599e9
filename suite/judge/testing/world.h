// A table with invented records on disk, and the verdict of one of its claims: what tests of rules
// share.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "suite/judge/claim.h"
#include "suite/judge/testing/synthetic.h"

namespace normbench::testing {

struct World {
  explicit World(SyntheticOptions with = {}) : World(std::move(with), {}) {}
  /// `truth`: see SyntheticOptions.
  World(SyntheticOptions with, std::function<double(const RunRef&, double)> truth)
      : options(std::move(with)), input(synthetic_input(options)) {
    options.truth = std::move(truth);
    write_all(folder.path(), input, options);
  }
  /// Adds the claim "here" (its id and statement) and judges it.
  Verdict judge(Json claim, const std::string& dataset = "gcide_1k") {
    claim["id"] = claim["statement"] = "here";
    input.claims = Json::array({claim});
    return verdict("here", dataset);
  }
  Verdict verdict(const std::string& id = "speed_up", const std::string& dataset = "gcide_1k") {
    const Evidence evidence = Evidence::load(input, folder.path());
    for (const auto& claim : read_claims(input))
      if (claim.id == id) return judge_claim(claim, evidence, dataset);
    throw std::runtime_error("no claim " + id);
  }
  void claim_value(double value) { input.published["speed_up"]["value"] = value; }
  /// A published number at /number.
  void publish(double value, const std::string& unit) {
    input.published["number"] = {
        {"value", value}, {"unit", unit}, {"how", "printed"}, {"where", "a table"}};
  }
  /// One record a seed of a measurement that the table then knows.
  void measure(const std::string& measurement, int64_t seed, const std::vector<Json>& rows,
               const Json& values) {
    bool known = false;
    for (const auto& info : input.measurements) known = known || info.name == measurement;
    if (!known) input.measurements.push_back({measurement, "what " + measurement + " is", ""});
    input.runs.push_back(measurement_run(measurement, seed));
    write_measurement(folder.path(), input.runs.back(), rows, values);
  }
  SyntheticOptions options;
  JudgeInput input;
  // A test's function may return its world.
  std::unique_ptr<TemporaryFolder> folder_owner = std::make_unique<TemporaryFolder>();
  const TemporaryFolder& folder = *folder_owner;
};

/// Two arms of which angpt needs 1 / ratio of the other's tokens.
inline SyntheticOptions with_ratio(double ratio) {
  SyntheticOptions options;
  options.token_ratio["angpt"] = ratio;
  return options;
}

inline std::string name(Outcome outcome) { return outcome_name(outcome); }

/// What the reader says to a claim with these keys; "" when nothing.
inline std::string claim_error(JudgeInput input, Json claim) {
  claim["id"] = claim["statement"] = "here";
  input.claims = Json::array({claim});
  try {
    read_claims(input);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace normbench::testing
