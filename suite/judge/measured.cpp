#include "suite/judge/measured.h"

#include "suite/base/names.h"
#include "suite/base/text.h"

namespace normbench {
namespace {

[[noreturn]] void unknown(const Claim& claim, const std::string& what, const std::string& name,
                          const Json& object) {
  std::vector<std::string> known;
  for (const auto& [key, value] : object.items()) known.push_back(key);
  throw UserError({.what = "measurement " + claim.measurement + " writes no such " + what,
                   .where = "claim " + claim.id,
                   .found = "\"" + name + "\"",
                   .expected = one_of(known),
                   .todo = did_you_mean(name, known)});
}

double number_at(const Claim& claim, const Json& row, const std::string& column) {
  if (!row.contains(column) || !row[column].is_number()) unknown(claim, "column", column, row);
  return row[column].get<double>();
}

}  // namespace

double measured_value(const Claim& claim, const Record& record, const std::string& name) {
  const Json& values = record.summary.at("values");
  if (!values.contains(name)) unknown(claim, "value", name, values);
  return values[name].get<double>();
}

Columns measured_columns(const Claim& claim, const Record& record) {
  Columns columns;
  for (const auto& line : record.step_lines) {
    const Json row = Json::parse(line);
    bool fits = true;
    for (const auto& [column, value] : claim.where.items()) {
      if (!row.contains(column)) unknown(claim, "column", column, row);
      fits = fits && row[column] == value;
    }
    if (!fits) continue;
    columns.x.push_back(number_at(claim, row, claim.x));
    columns.y.push_back(number_at(claim, row, claim.y));
    if (!(columns.x.back() > 0) || !(columns.y.back() > 0))
      throw UserError({.what = "an exponent needs numbers above 0",
                       .where = "claim " + claim.id + ", " + record.run.name,
                       .found = line,
                       .todo = "choose the rows with \"where\""});
  }
  const auto [least, most] = std::minmax_element(columns.x.begin(), columns.x.end());
  if (columns.x.empty() || *least == *most)
    throw UserError({.what = "an exponent needs rows with two values of " + claim.x,
                     .where = "claim " + claim.id + ", " + record.run.name,
                     .found = count_text(columns.x.size(), "row") + " with " + claim.where.dump()});
  return columns;
}

std::vector<const Record*> measured_records(const Claim& claim, const Evidence& evidence) {
  std::vector<const Record*> usable;
  for (const int64_t seed : evidence.measurement_seeds(claim.measurement)) {
    const Record* record = evidence.measurement(claim.measurement, seed);
    if (record->usable()) usable.push_back(record);
  }
  return usable;
}

std::string seed_fact(int64_t seed, double value) {
  return "seed " + std::to_string(seed) + ": " + plain_text(value);
}

}  // namespace normbench
