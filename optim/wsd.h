// WSD: warm-up, stable, decay. Hu et al., arXiv 2404.06395; tails as in Haegele et al., arXiv
// 2405.18392, and in Megatron-LM. Torch-free. D = decay_fraction of ALL steps.
//   t <= T - D: peak;   else p = (t - (T - D)) / D,  floor + (peak - floor) tail(p)
//   linear 1 - p     1-sqrt 1 - sqrt(p)     cosine (1 + cos(pi p)) / 2     exp 2 0.5^p - 1
#pragma once

#include <string>

#include "optim/schedule.h"

namespace normbench {

struct WsdOptions {
  double warmup_fraction = 0;   // part of all steps, rounded to the nearest step
  int64_t warmup_steps = 0;     // the same as a count; give one of the two
  double decay_fraction = 0.2;  // part of all steps, not of those after the warm-up (Nemotron: 0.2)
  double final_fraction = 0;    // rate of the last step as a part of the peak
  std::string tail = "linear";

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("warmup_fraction", warmup_fraction, share_below_one());
    v.number("warmup_steps", warmup_steps, at_least(0));
    v.number("decay_fraction", decay_fraction, between(0, 1));
    v.number("final_fraction", final_fraction, between(0, 1));
    v.choice("tail", tail, {"linear", "1-sqrt", "cosine", "exp"});
  }
};

double wsd_tail(const std::string& tail, double p);
/// Integral of the tail over [0, 1]: 1/2, 1/3, 1/2, 1/ln 2 - 1.
double wsd_tail_area(const std::string& tail);
/// Area after the warm-up share w: 1 - (1 - tail area) d / (1 - w), d = decay share of all steps.
double wsd_area(const std::string& tail, double decay_share, double warmup_share);

Schedule make_wsd(int64_t steps, double peak_lr, const JsonObject& options);
ScheduleShape wsd_shape(int64_t steps, const JsonObject& options);

}  // namespace normbench
