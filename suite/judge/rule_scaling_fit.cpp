// Rule "scaling_fit": a power law of compute through the best runs of every size.
//   C = 6 N D, N = parameters without the input embedding, D = tokens        (anGPT, appendix J)
//   points: of 1500 bins of equal width in ln C the least final loss, where no cheaper run is
//   better (power_law.h, frontier); law by least squares of the values, t interval by the delta
//   method
//   loss_of_compute        L = factor C^exponent
//   tokens_of_compute      D_opt, tokens of those points
//   parameters_of_compute  N_opt, all parameters of those points
// The published number is the exponent when its unit says so, else the factor.
// Published points: a check of this code and of the reading of the paper, no interval:
//   REPRODUCED when |fit - published| <= tolerance, else NOT_REPRODUCED.
// Own runs: the interval against published +- tolerance (outcome.h, decide_within).
#include <cmath>
#include <map>

#include "suite/judge/claim_rules.h"
#include "suite/judge/power_law.h"
#include "suite/judge/text.h"

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

// Mean loss over the seeds of each setting and budget; diverged runs are left out (and named).
std::vector<ScalingPoint> own_points(const Claim& claim, const Evidence& evidence) {
  std::map<std::pair<std::string, int64_t>, std::vector<const Record*>> groups;
  for (const Record* record : records_of(claim, evidence, ""))
    if (record->state == RecordState::kFinished)
      groups[{record->run.dataset, record->run.token_budget}].push_back(record);
  std::vector<ScalingPoint> points;
  for (const auto& [place, records] : groups) {
    std::vector<double> losses;
    for (const Record* record : records) losses.push_back(record->validation_loss());
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

}  // namespace

Verdict rule_scaling_fit(const Claim& claim, const Evidence& evidence, const std::string& dataset) {
  Verdict verdict = begin_verdict(claim, evidence, dataset);
  const bool published = !claim.points.is_null();
  const auto all = published ? published_points(claim) : own_points(claim, evidence);
  const auto kept = frontier(all);
  std::vector<double> x, y;
  Json shown = Json::array();
  for (const auto& point : kept) {
    x.push_back(point.compute);
    y.push_back(point.*ordinate(claim.law));
    shown.push_back({{"compute", point.compute},
                     {"loss", point.loss},
                     {"tokens", point.tokens},
                     {"parameters", point.parameters}});
  }
  verdict.pairs = static_cast<int>(kept.size());
  verdict.planned_pairs = static_cast<int>(all.size());
  verdict.detail = {{"law", claim.law}, {"tolerance", *claim.tolerance}, {"points", shown}};
  std::string measured = "Fewer than 3 points are best at their compute, so there is no fit.";
  verdict.statistics_say = Outcome::kInconclusive;
  if (kept.size() >= 3) {
    const double alpha = evidence.input.alpha;
    const PowerLaw law = fit_values(x, y), in_logs = fit_in_logs(x, y);
    const bool exponent = claim.unit == "exponent";
    const Interval interval = exponent ? law.exponent_interval(alpha) : law.factor_interval(alpha);
    verdict.estimate = exponent ? law.exponent : law.factor;
    verdict.low = interval.low;
    verdict.high = interval.high;
    verdict.detail["factor"] = law.factor;
    verdict.detail["exponent"] = law.exponent;
    verdict.detail["in_logs"] = {{"factor", in_logs.factor}, {"exponent", in_logs.exponent}};
    verdict.facts = {"the law: " + plain_text(law.factor) + " C^" + plain_text(law.exponent),
                     "fitted in logs instead: " + plain_text(in_logs.factor) + " C^" +
                         plain_text(in_logs.exponent)};
    const double difference = *verdict.estimate - *claim.value;
    verdict.statistics_say = !published ? decide_within(interval, *claim.value, *claim.tolerance)
                             : std::abs(difference) <= *claim.tolerance ? Outcome::kReproduced
                                                                        : Outcome::kNotReproduced;
    measured = std::string(exponent ? "The exponent" : "The factor") + " through the best " +
               std::to_string(kept.size()) + " of " + count_text(all.size(), "point") + " is " +
               plain_text(*verdict.estimate);
    measured += published ? "; the paper's " + plain_text(*claim.value) + " is " +
                                plain_text(std::abs(difference)) + " away, tolerance " +
                                plain_text(*claim.tolerance) + "."
                          : within_text(verdict, claim);
  }
  finish_verdict(verdict, claim, evidence, measured);
  return verdict;
}

}  // namespace normbench
