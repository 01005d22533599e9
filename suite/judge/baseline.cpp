#include "suite/judge/baseline.h"

#include "suite/base/record_digest.h"
#include "suite/judge/gate.h"

namespace normbench {
namespace {

void check_value(const JsonObject& value) {
  value.required<int64_t>("seed");
  value.required<std::string>("run_id");
  const auto bits = value.required<std::string>("bits");
  const bool diverged = value.raw("validation_loss").is_null();
  const std::string of_loss =
      diverged ? "" : double_bits(value.required<double>("validation_loss"));
  if (bits != of_loss)  // the gate of other classes reads the loss, of the same class the bits
    value.fail("validation_loss", "the validation loss and its bits disagree",
               value.raw("validation_loss").dump() + " and bits \"" + bits + "\"",
               "bits \"" + of_loss + "\", or the loss of these bits");
  value.required<std::string>("steps_digest");
  value.finish();
}

void check_group(const JsonObject& group) {
  group.required<int>("n");
  group.for_each_element("values", check_value);
  group.ignore("mean");  // for the reader of the file
  group.ignore("s");
  group.finish();
}

void check_entry(const JsonObject& entry) {
  entry.for_each_object("arms", [](const std::string&, const JsonObject& arm) {
    for (const auto& dataset : arm.keys())
      arm.for_each_object(dataset,
                          [](const std::string&, const JsonObject& group) { check_group(group); });
  });
  entry.for_each_object("verdicts", [](const std::string&, const JsonObject& claim) {
    for (const auto& dataset : claim.keys())
      outcome_from_name(claim.required<std::string>(dataset),
                        claim.file() + ", at " + claim.pointer() + "/" + dataset);
  });
  entry.ignore("created");
  entry.ignore("fingerprint");
  entry.finish();
}

}  // namespace

Json read_baseline(const JudgeInput& input, const std::string& file) {
  const Json baseline = read_json(file);
  const JsonObject object(baseline, file);
  for (const auto& [key, expected] :
       std::vector<std::pair<std::string, std::string>>{{"schema", kBaselineSchema},
                                                        {"paper", input.paper},
                                                        {"table", input.table},
                                                        {"tier", input.tier}})
    if (const auto found = object.required<std::string>(key); found != expected)
      object.fail(key, "the baseline of something else", "\"" + found + "\"",
                  "\"" + expected + "\"", bless_command(input));
  object.for_each_object("entries",
                         [](const std::string&, const JsonObject& entry) { check_entry(entry); });
  object.ignore("note");
  object.finish();
  return baseline;
}

}  // namespace normbench
