// Rule "scaling_fit": a power law of compute through the best runs of every size, or of size
// through the paper's best batches and rates.
//   C = 6 N D, N = parameters without the input embedding, D = tokens        (anGPT, appendix J)
//   points: of 1500 bins of equal width in ln C the least final loss, where no cheaper run is
//   better (power_law.h, frontier); law by least squares of the values, t interval by the delta
//   method
//   loss_of_compute        L = factor C^exponent
//   tokens_of_compute      D_opt, tokens of those points
//   parameters_of_compute  N_opt, all parameters of those points
//   N = all parameters                                                       (anGPT, Figure 2)
//   points: all, one a size, published alone; law by least squares of the logarithms
//   batch_of_parameters    best batch = factor N^exponent, in sequences
//   rate_of_parameters     best peak rate
// The published number is the exponent when its unit says so, else the factor.
// Published points: a check of this code and of the reading of the paper, no interval:
//   REPRODUCED when |fit - published| <= tolerance, else NOT_REPRODUCED.
// Own runs: the interval against published +- tolerance (outcome.h, decide_within).
#include <cmath>
#include <map>

#include "suite/base/text.h"
#include "suite/judge/claim_rules.h"
#include "suite/judge/power_law.h"

namespace normbench {
namespace {

ScalingPoint point_of(double parameters, double embedding, double tokens, double loss) {
  return {6 * (parameters - embedding) * tokens, loss, tokens, parameters};
}

std::vector<ScalingPoint> published_points(const Claim& claim) {
  std::vector<ScalingPoint> points;
  for (const auto& p : claim.points)
    points.push_back(point_of(p["parameters"], p["embedding_parameters"], p["tokens"], p["value"]));
  return points;
}

// Mean loss over the seeds of each setting and budget; with a diverged run it is infinite, and no
// point (the run is named).
std::vector<ScalingPoint> own_points(const Claim& claim, const Evidence& evidence) {
  std::map<std::pair<std::string, int64_t>, std::vector<const Record*>> groups;
  for (const Record* record : records_of(claim, evidence, ""))
    if (record->usable()) groups[{record->run.dataset, record->run.token_budget}].push_back(record);
  std::vector<ScalingPoint> points;
  for (const auto& [place, records] : groups) {
    std::vector<double> losses;
    for (const Record* record : records) losses.push_back(record->validation_loss());
    if (!std::isfinite(mean(losses))) continue;
    const Json& manifest = records.front()->manifest;
    const Json& size = manifest.at("config").at("size");
    points.push_back(point_of(manifest.at("parameters"),
                              size.at("vocabulary").get<double>() * size.at("width").get<double>(),
                              static_cast<double>(place.second), mean(losses)));
  }
  return points;
}

double ScalingPoint::*ordinate(const std::string& law) {
  return law == "tokens_of_compute"       ? &ScalingPoint::tokens
         : law == "parameters_of_compute" ? &ScalingPoint::parameters
                                          : &ScalingPoint::loss;
}

// What the fit is made through.
struct Points {
  std::vector<double> x, y;
  Json shown = Json::array();
  size_t all = 0;  // with those that are not best at their compute
};

Points points_of_compute(const Claim& claim, const std::vector<ScalingPoint>& all) {
  Points points;
  points.all = all.size();
  for (const auto& point : frontier(all)) {
    points.x.push_back(point.compute);
    points.y.push_back(point.*ordinate(claim.law));
    points.shown.push_back({{"compute", point.compute},
                            {"loss", point.loss},
                            {"tokens", point.tokens},
                            {"parameters", point.parameters}});
  }
  return points;
}

Points points_of_size(const Claim& claim) {
  Points points;
  points.all = claim.points.size();
  for (const auto& point : claim.points) {
    points.x.push_back(point["parameters"].get<double>());
    points.y.push_back(point["value"].get<double>());
    points.shown.push_back({{"parameters", point["parameters"]}, {"value", point["value"]}});
  }
  return points;
}

}  // namespace

Verdict rule_scaling_fit(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  const bool published = !claim.points.is_null();
  const bool of_size = claim.law.ends_with("_of_parameters");
  const auto [x, y, shown, all] =
      of_size ? points_of_size(claim)
              : points_of_compute(
                    claim, published ? published_points(claim) : own_points(claim, evidence));
  verdict.pairs = static_cast<int>(x.size());
  verdict.planned_pairs = static_cast<int>(all);
  verdict.detail = {{"law", claim.law}, {"tolerance", *claim.tolerance}, {"points", shown}};
  std::string measured = "Fewer than 3 points are best at their compute, so there is no fit.";
  verdict.statistics_say = Outcome::kInconclusive;
  if (x.size() >= 3) {
    const double alpha = evidence.input.alpha;
    const PowerLaw in_values = fit_values(x, y), in_logs = fit_in_logs(x, y);
    const PowerLaw &law = of_size ? in_logs : in_values, &other = of_size ? in_values : in_logs;
    const std::string other_name = of_size ? "values" : "logs";
    const auto text = [&](const PowerLaw& l) {
      return plain_text(l.factor) + (of_size ? " N^" : " C^") + plain_text(l.exponent);
    };
    const bool exponent = claim.unit == "exponent";
    const Interval interval = exponent ? law.exponent_interval(alpha) : law.factor_interval(alpha);
    verdict.estimate = exponent ? law.exponent : law.factor;
    verdict.low = interval.low;
    verdict.high = interval.high;
    verdict.detail["factor"] = law.factor;
    verdict.detail["exponent"] = law.exponent;
    verdict.detail["in_" + other_name] = {{"factor", other.factor}, {"exponent", other.exponent}};
    verdict.facts = {"the law: " + text(law),
                     "fitted in " + other_name + " instead: " + text(other)};
    if (of_size) {
      const double r_squared = r_squared_in_logs(law, x, y);
      verdict.detail["r_squared"] = r_squared;
      verdict.facts.push_back("R squared in logs: " + plain_text(r_squared));
    }
    const double difference = *verdict.estimate - *claim.value;
    verdict.statistics_say = !published ? decide_within(interval, *claim.value, *claim.tolerance)
                             : std::abs(difference) <= *claim.tolerance ? Outcome::kReproduced
                                                                        : Outcome::kNotReproduced;
    measured = std::string(exponent ? "The exponent" : "The factor") +
               (of_size ? " through " : " through the best " + std::to_string(x.size()) + " of ") +
               count_text(all, "point") + " is " + plain_text(*verdict.estimate);
    measured += published ? "; the paper's " + plain_text(*claim.value) + " is " +
                                plain_text(std::abs(difference)) + " away, tolerance " +
                                plain_text(*claim.tolerance) + "."
                          : within_text(verdict, claim);
  }
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
