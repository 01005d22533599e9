// The closed forms against quadrature, and the peaks that they give against summed rates.
#include "optim/schedule_shape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "optim/inverse_sqrt.h"
#include "optim/logarithmic.h"
#include "optim/schedule.h"
#include "optim/wsd.h"

namespace normbench {
namespace {

const std::vector<double> kRhos = {1e-3, 0.01, 0.05, 0.2, 0.999, 1,   10,
                                   99,   101,  1e4,  1e6, 1e8,   1e12};

/// Simpson's rule with 40000 intervals.
template <class Number, class F>
Number integral(const F& f, Number to = 1) {
  constexpr int kPairs = 20000;
  const Number h = to / (2 * kPairs);
  Number sum = f(Number(0)) + f(to);
  for (int i = 1; i < 2 * kPairs; ++i) sum += Number(i % 2 ? 4 : 2) * f(Number(i) * h);
  return sum * h / 3;
}

/// Integral of g^power over [0, r], in long double and without log_decay(): at
/// x = rho (e^(s L) - 1) the decay is g = 1 - s, and dx = rho L e^(s L) ds has no steep place.
/// Simpson's error is h^4 / 180 times a fourth derivative near L^5, 4e-17 at rho = 1e-3.
long double area_by_quadrature(double rho, int power, double r = 1) {
  const long double R = rho, L = std::log1p(1 / R);
  const auto part = [&](long double s) {
    return std::pow(1 - s, static_cast<long double>(power)) * R * L * std::exp(s * L);
  };
  return integral<long double>(part, std::log1p(r / R) / L);
}

/// found / truth - 1.
double relative(double found, long double truth) {
  return static_cast<double>((found - truth) / truth);
}

struct Named {
  const char* name;
  Json options;
};

const std::vector<Named>& schedules() {
  static const std::vector<Named> all = {
      {"constant", {{"warmup_fraction", 0.1}}},
      {"cosine", {{"warmup_fraction", 0.1}, {"final_fraction", 0.01}}},
      {"linear", {{"final_fraction", 0.2}}},
      {"logarithmic", {{"warmup_fraction", 0.1}, {"rho", 0.05}, {"final_fraction", 0.05}}},
      {"logarithmic", {{"rho", 1.0}}},
      {"inverse_sqrt", {{"warmup_fraction", 0.1}}},
      {"inverse_sqrt", {{"warmup_fraction", 0.1}, {"final_fraction", 0.5}}},
      {"wsd", {{"warmup_fraction", 0.1}, {"decay_fraction", 0.25}, {"final_fraction", 0.05}}},
      {"wsd", {{"warmup_fraction", 0.1}, {"tail", "1-sqrt"}}},
      {"wsd", {{"tail", "cosine"}, {"decay_fraction", 1.0}}},
      {"wsd", {{"tail", "exp"}, {"final_fraction", 0.1}}},
  };
  return all;
}

/// The mean rate of a long run, by the trapezoidal rule on its steps.
double summed_mean(const Named& s, int64_t steps, double peak) {
  const auto lr = find_schedule(s.name).make(steps, peak, JsonObject(s.options, "test"));
  double sum = (lr(0) - lr(steps)) / 2;
  for (int64_t t = 1; t <= steps; ++t) sum += lr(t);
  return sum / static_cast<double>(steps);
}

ScheduleShape shape_of(const Named& s, int64_t steps) {
  return find_schedule(s.name).shape(steps, JsonObject(s.options, "test"));
}

TEST(ScheduleShape, ClosedAreasAreTheQuadratureOfTheRates) {
  constexpr int64_t kSteps = 200000;
  for (const auto& s : schedules())
    // The rule misses steps^-1.5 where the tail 1 - sqrt(p) is steep, steps^-2 elsewhere times the
    // curvature of the steepest decay, 400 at rho = 0.05.
    EXPECT_NEAR(mean_rate(shape_of(s, kSteps), 0.02) / 0.02, summed_mean(s, kSteps, 0.02) / 0.02,
                1e-7)
        << s.name << s.options;
}

TEST(ScheduleShape, EqualAreaPeaksGiveEqualSums) {
  constexpr int64_t kSteps = 200000;
  for (const auto& s : schedules())
    for (const auto& reference : schedules()) {
      const double peak = equal_area_peak(shape_of(s, kSteps), shape_of(reference, kSteps), 0.02);
      EXPECT_NEAR(mean_rate(shape_of(s, kSteps), peak),
                  mean_rate(shape_of(reference, kSteps), 0.02), 1e-16);  // rounding of 0.02
      if (&reference == &schedules()[1]) {
        EXPECT_NEAR(summed_mean(s, kSteps, peak) / summed_mean(reference, kSteps, 0.02), 1, 1e-6)
            << s.name;
      }
    }
}

TEST(ScheduleShape, AFloorInRateStaysWhereItIs) {
  // w = 0.1, A = 1/2, floor 0.002: 0.1 * 0.02 / 2 + 0.9 * (0.002 + 0.018 / 2) = 0.0109.
  const ScheduleShape s = {.warmup_share = 0.1, .area = 0.5, .floor = 0.002};
  EXPECT_DOUBLE_EQ(mean_rate(s, 0.02), 0.0109);
  EXPECT_DOUBLE_EQ(peak_of_mean_rate(s, 0.0109), 0.02);
  EXPECT_THROW(peak_of_mean_rate(s, 0.0001), UserError);
}

TEST(ScheduleShape, DiscreteSumsCountTheStepsExactly) {
  const Json options = {{"warmup_steps", 20}, {"rho", 0.05}, {"final_fraction", 0.1}};
  for (const int64_t warmup : {0, 20}) {
    Json o = options;
    o["warmup_steps"] = warmup;
    const auto lr = find_schedule("logarithmic").make(200, 0.02, JsonObject(o, "test"));
    double sum = 0;
    for (int64_t t = 1; t <= 200; ++t) sum += lr(t);
    const double g = log_decay_sum(0.05, 200 - warmup);
    EXPECT_NEAR(summed_rate(200, warmup, g, 0.002, 0.02), sum, 1e-13);  // 200 terms of 0.02
    EXPECT_NEAR(peak_of_summed_rate(200, warmup, g, 0.002, sum), 0.02, 1e-15);
  }
}

TEST(Logarithmic, ClosedFormsAreTheIntegrals) {
  for (const double rho : kRhos) {
    const auto g = [rho](double r) { return log_decay(rho, r); };
    // The sums have no cancelling terms: some ten roundings of 1.1e-16, and 1 / L of them in g.
    EXPECT_NEAR(relative(log_area(rho), area_by_quadrature(rho, 1)), 0, 1e-14) << rho;
    EXPECT_NEAR(relative(log_square_area(rho), area_by_quadrature(rho, 2)), 0, 1e-14) << rho;
    for (const double r : {1e-3, 0.3, 0.9, 1.0})
      EXPECT_NEAR(relative(log_area_until(rho, r), area_by_quadrature(rho, 1, r)), 0, 1e-14)
          << rho << " " << r;
    EXPECT_NEAR(g(log_half_progress(rho)), 0.5, 1e-14) << rho;
    EXPECT_DOUBLE_EQ(g(0), 1) << rho;
    EXPECT_NEAR(g(1), 0, 1e-15) << rho;
  }
}

TEST(Logarithmic, TheSumIsTheSum) {
  for (const double rho : kRhos) {
    const long double R = rho, L = std::log1p(1 / R);
    for (const int64_t n : {1, 7, 900}) {
      long double sum = 0;
      for (int64_t j = 1; j <= n; ++j)
        sum += 1 - std::log1p(static_cast<long double>(j) / static_cast<long double>(n) / R) / L;
      // Each of the n terms is off by about 1.1e-16, of sums that are at least 0.14 n; the last
      // term, 0, is the only one of n = 1.
      EXPECT_NEAR(log_decay_sum(rho, n), static_cast<double>(sum), 2e-15 * static_cast<double>(n))
          << rho << " " << n;
    }
  }
  // The closed form, where its terms are not large: rounding of ln Gamma near 5000, 1e-12, / L.
  const double n = 900, rho = 0.05;
  const double closed =
      n - (std::lgamma(n * rho + n + 1) - std::lgamma(n * rho + 1) - n * std::log(n * rho)) /
              std::log1p(1 / rho);
  EXPECT_NEAR(log_decay_sum(rho, 900), closed, 1e-11);
  EXPECT_NEAR(log_decay_sum(0.05, 900), 250.11344416, 1e-8);  // arXiv 2608.01284, see golden files
}

TEST(Logarithmic, RhoOfAnAreaReturns) {
  for (const double rho : {1e-4, 0.01, 0.05, 1.0, 50.0})
    EXPECT_NEAR(log_rho_of_area(log_area(rho)) / rho, 1, 1e-9);  // A' is small at large rho
  double last = 0;
  for (const double rho : kRhos) {
    EXPECT_GT(log_area(rho), last);
    last = log_area(rho);
  }
  EXPECT_LT(last, 0.5);
  for (const double area : {0.0, 0.0014, 0.5, -1.0})
    EXPECT_THROW(log_rho_of_area(area), UserError) << area;
  EXPECT_NEAR(log_area(log_rho_of_area(0.0015)) / 0.0015, 1, 1e-12);
}

TEST(Logarithmic, EveryAllowedRhoGivesRatesAndAreasBetweenNothingAndThePeak) {
  for (const double rho : {kLeastRho, 1e-100, 1e16, 1e30}) {
    const Json options = {{"rho", rho}};
    const auto lr = find_schedule("logarithmic").make(100, 1, JsonObject(options, "test"));
    for (int64_t t = 1; t <= 100; ++t) {
      EXPECT_GE(lr(t), 0) << rho << " " << t;  // false for NaN too
      EXPECT_LE(lr(t), 1) << rho << " " << t;
    }
    for (const double number : {log_area(rho), log_square_area(rho), log_area_until(rho, 0.3)}) {
      EXPECT_GT(number, 0) << rho;
      EXPECT_LE(number, 0.5) << rho;
    }
  }
}

TEST(Logarithmic, ALargeRhoIsTheLinearDecay) {
  for (const double r : {0.1, 0.5, 0.9}) EXPECT_NEAR(log_decay(1e6, r), 1 - r, 1e-6);
}

TEST(Wsd, HoldsThePeakUntilTheDecayAndReachesTheFloor) {
  for (const std::string tail : {"linear", "1-sqrt", "cosine", "exp"}) {
    const Json o = {
        {"warmup_steps", 10}, {"decay_fraction", 0.25}, {"final_fraction", 0.1}, {"tail", tail}};
    const auto lr = find_schedule("wsd").make(200, 1, JsonObject(o, "test"));
    EXPECT_DOUBLE_EQ(lr(5), 0.5);
    for (int64_t t = 10; t <= 150; ++t) EXPECT_EQ(lr(t), 1) << tail;
    for (int64_t t = 151; t <= 200; ++t) EXPECT_LT(lr(t), lr(t - 1)) << tail;
    EXPECT_DOUBLE_EQ(lr(200), 0.1) << tail;
    EXPECT_NEAR(wsd_tail_area(tail),
                integral<double>([&](double p) { return wsd_tail(tail, p * p) * 2 * p; }),
                1e-10);  // p^2 for p: smooth at 0 for every tail
  }
}

TEST(InverseSqrt, HalvesWhereTheTimeIsFourfoldAndStopsAtItsFloor) {
  const Json o = {{"warmup_steps", 20}, {"final_fraction", 0.4}};
  const auto lr = find_schedule("inverse_sqrt").make(200, 0.02, JsonObject(o, "test"));
  EXPECT_DOUBLE_EQ(lr(20), 0.02);
  EXPECT_DOUBLE_EQ(lr(80), 0.01);
  EXPECT_DOUBLE_EQ(lr(200), 0.008);
  EXPECT_DOUBLE_EQ(lr(124) / lr(125), std::sqrt(125.0 / 124.0));
  EXPECT_DOUBLE_EQ(lr(126), 0.008);
}

TEST(Schedules, RefuseWhatDoesNotFitTheRun) {
  const auto make = [](const char* name, const Json& options) {
    return find_schedule(name).make(100, 1, JsonObject(options, "test"));
  };
  EXPECT_THROW(make("wsd", {{"decay_fraction", 0.95}, {"warmup_fraction", 0.1}}), UserError);
  EXPECT_THROW(make("wsd", {{"decay_fraction", -0.1}}), UserError);
  EXPECT_THROW(make("wsd", {{"tail", "sqrt"}}), UserError);
  for (const double rho : {0.0, -1.0, 1e-310, 1e-301, 1e101})  // 1 / 1e-310 is infinite
    EXPECT_THROW(make("logarithmic", {{"rho", rho}}), UserError) << rho;
  EXPECT_THROW(make("logarithmic", {{"final_fraction", 2.0}}), UserError);
  EXPECT_THROW(make("inverse_sqrt", {{"warmup_steps", 100}}), UserError);
  EXPECT_THROW(make("inverse_sqrt", {{"rho", 1.0}}), UserError);
}

}  // namespace
}  // namespace normbench
