#include "suite/plan/ctest_list.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "suite/base/text.h"

namespace normbench {
namespace {

/// One add_test with its properties.
struct Test {
  std::string name;
  std::vector<std::string> arguments;
  std::set<std::string> labels, fixtures_required;
  std::string fixture_setup;
  std::vector<std::string> more;  // property name, value, ...
  int timeout_seconds = 60;
  double cost = 0;
};

/// Checks take a second, but after a rebuild the first ones run the table's canaries, one by one.
constexpr int kCheckTimeout = 900;

std::string quoted(const std::string& text) { return "[==[" + text + "]==]"; }

std::string joined(const std::set<std::string>& values) {
  return join({values.begin(), values.end()}, ";");
}

std::string render(const Test& test, const std::string& program, const std::string& root) {
  std::string text = "add_test(" + test.name + " " + quoted(program);
  for (const auto& argument : test.arguments) text += " " + quoted(argument);
  text += ")\nset_tests_properties(" + test.name + " PROPERTIES WORKING_DIRECTORY " + quoted(root) +
          " LABELS " + quoted(joined(test.labels)) + " TIMEOUT " +
          std::to_string(test.timeout_seconds) + " SKIP_RETURN_CODE 77";
  if (!test.fixture_setup.empty()) text += " FIXTURES_SETUP " + test.fixture_setup;
  if (!test.fixtures_required.empty())
    text += " FIXTURES_REQUIRED " + quoted(joined(test.fixtures_required));
  if (test.cost > 0) text += " COST " + std::to_string(test.cost);
  for (size_t i = 0; i + 1 < test.more.size(); i += 2)
    text += " " + test.more[i] + " " + quoted(test.more[i + 1]);
  return text + ")\n";
}

std::string fixture_of(const PlannedRun& run) {
  return run.run_id.empty() ? run.name : "run-" + run.run_id;
}

/// Arms or the measurement that a claim is about, its subject first: the key that the rule has
/// (suite/judge/claim_rules.cpp). None for a claim about published numbers alone.
std::vector<std::string> named_by(const Json& claim) {
  if (claim.contains("arms")) {
    auto arms = claim["arms"].get<std::vector<std::string>>();
    std::swap(arms.front(), arms.back());  // the last one is claimed to be best
    return arms;
  }
  std::vector<std::string> names;
  for (const char* role : {"challenger", "arm", "measurement", "reference"})
    if (claim.contains(role)) names.push_back(claim[role].get<std::string>());
  return names;
}

/// The script under construction: fixtures and shared runs appear once, whoever asks for them.
class Script {
 public:
  Script(const Estimate& estimate) : estimate_(estimate) {}

  void add(const PlannedTier& planned) {
    const std::set<std::string> labels = {
        "tier." + planned.tier->name, "device." + planned.tier->device,
        "paper." + planned.table->paper,
        "table." + planned.table->paper + "." + planned.table->name};
    Test& machine = once("machine." + planned.tier->device, labels, "kind.fixture");
    machine.arguments = {"doctor", "--device", planned.tier->device};
    machine.fixture_setup = machine.name;
    // CTest starts the dearest test first when it runs several at once. Arms of one setting and
    // budget have the cost of the dearest of them, so that they take turns as in the plan.
    std::map<std::string, double> cost;
    for (const auto& run : planned.runs) {
      double& dearest = cost[turn_of(run)];
      dearest = std::max(dearest, estimate_.seconds(run));
    }
    for (const auto& run : planned.runs) add_run(run, planned, labels, cost.at(turn_of(run)));
    add_checks(planned, labels);
  }

  std::string text(const std::string& program, const std::string& root) const {
    std::string script = "# Written by `normbench plan --ctest`; a change here is lost.\n";
    for (const auto& name : order_) script += render(tests_.at(name), program, root);
    return script;
  }

 private:
  Test& once(const std::string& name, const std::set<std::string>& labels,
             const std::string& kind) {
    if (!tests_.contains(name)) order_.push_back(name);
    Test& test = tests_[name];
    test.name = name;
    test.labels.insert(labels.begin(), labels.end());
    test.labels.insert(kind);
    return test;
  }

  /// The fixture's name.
  std::string add_data(const std::string& dataset, const std::set<std::string>& labels) {
    const std::string name = "data." + dataset;
    Test& data = once(name, labels, "kind.fixture");
    data.arguments = {"data", "prepare", dataset};
    data.fixture_setup = name;
    data.timeout_seconds = 1800;
    return name;
  }

  /// Runs that take turns: equal but for arm and seed.
  static std::string turn_of(const PlannedRun& run) {
    return run.setting + (run.sweep ? " sweep " : " ") + run.task + " " +
           std::to_string(run.token_budget);
  }

  void add_run(const PlannedRun& run, const PlannedTier& planned,
               const std::set<std::string>& labels, double cost) {
    const std::string fixture = fixture_of(run);
    const auto shared = name_of_fixture_.emplace(fixture, run.name).first;
    Test& test = once(shared->second, labels, "kind.run");
    test.labels.insert(!run.task.empty() ? "kind.measurement"
                       : run.sweep       ? "kind.sweep"
                                         : "kind.verdict");
    test.arguments = {"run", shared->second};
    test.fixture_setup = fixture;
    test.fixtures_required = {"machine." + planned.tier->device};
    if (!run.dataset.empty()) test.fixtures_required.insert(add_data(run.dataset, labels));
    const double seconds = estimate_.seconds(run);
    test.cost = std::max(test.cost, cost);
    test.timeout_seconds =
        static_cast<int>(120 + std::ceil(10 * seconds));  // for hanging, not for slowness
    test.more = {"PROCESSORS", std::to_string(planned.tier->threads)};
    if (planned.tier->device == "cuda") {
      // Without a resource file CTest ignores RESOURCE_GROUPS, so the run also takes a file lock on
      // its device.
      test.more.insert(test.more.end(), {"RESOURCE_GROUPS", "gpus:1"});
    }
  }

  void add_checks(const PlannedTier& planned, const std::set<std::string>& labels) {
    const std::string table = planned.table->paper + "." + planned.table->name;
    const std::string stem = "check." + table + "." + planned.tier->name;
    const std::vector<std::string> select = {"judge", "--tier", planned.tier->name, "--only",
                                             table};
    std::map<std::string, std::set<std::string>> verdict_runs, all_runs;
    std::set<std::string> everything;
    for (const auto& run : planned.runs) {
      if (!run.sweep && run.task.empty()) verdict_runs[run.arm].insert(fixture_of(run));
      all_runs[run.arm].insert(fixture_of(run));
      everything.insert(fixture_of(run));
    }
    for (const auto& [arm, fixtures] : verdict_runs) {
      Test& test =
          once(stem + ".regression." + arm + ".validation_loss", labels, "kind.regression");
      test.timeout_seconds = kCheckTimeout;
      test.arguments = select;
      test.arguments.insert(test.arguments.end(), {"--regression", arm});
      test.fixtures_required = fixtures;
    }
    std::set<std::string> subjects;
    for (const auto& claim : planned.table->claims) {
      const JsonObject o(claim, planned.table->file, "/claims");
      const auto id = o.required<std::string>("id");
      if (claim.contains("tiers") && std::find(claim["tiers"].begin(), claim["tiers"].end(),
                                               planned.tier->name) == claim["tiers"].end())
        continue;
      Test& test = once(stem + ".claim." + id, labels, "kind.claim");
      test.timeout_seconds = kCheckTimeout;
      test.arguments = select;
      test.arguments.insert(test.arguments.end(), {"--claim", id});
      // A claim on published points alone has no runs.
      const auto names = named_by(claim);
      for (const auto& name : names) {
        const auto runs = all_runs.find(name);
        if (runs != all_runs.end())
          test.fixtures_required.insert(runs->second.begin(), runs->second.end());
      }
      if (!names.empty()) subjects.insert(names.front());
    }
    // A verdict that falls below the committed one is a gate matter, and the gate of its subject.
    for (const auto& arm : subjects) {
      Test& test = once(stem + ".regression." + arm + ".verdict", labels, "kind.regression");
      test.timeout_seconds = kCheckTimeout;
      test.arguments = select;
      test.arguments.insert(test.arguments.end(), {"--regression", arm, "--metric", "verdict"});
      test.fixtures_required = everything;
    }
  }

  const Estimate& estimate_;
  std::map<std::string, Test> tests_;
  std::vector<std::string> order_;
  std::map<std::string, std::string> name_of_fixture_;
};

}  // namespace

std::string ctest_script(const std::vector<PlannedTier>& tiers, const Estimate& estimate,
                         const std::string& program, const std::string& root) {
  Script script(estimate);
  for (const auto& planned : tiers) script.add(planned);
  return script.text(program, root);
}

}  // namespace normbench
