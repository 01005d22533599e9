// The area under a schedule, and the peak at which two schedules have the same. Torch-free.
// The sum of the rates bounds how far the weights turn in a run, so that schedules compared at one
// peak differ in length as well as in shape; at equal area only the shape is left (the sum of the
// squared rates still differs). Formulas: arXiv 2608.01284, its logarithmic decay.
//   lr(r) = floor + (peak - floor) g(r) after a warm-up share w,  A = integral of g over [0, 1]
//   area = w peak / 2 + (1 - w) (floor + (peak - floor) A)                                     (1)
//   peak = (area - (1 - w) floor (1 - A)) / (w / 2 + (1 - w) A)       for a floor in rate      (2)
// With floor = f peak + c both hold with A + f (1 - A) for A and c for the floor.
#pragma once

#include <cstdint>

namespace normbench {

struct ScheduleShape {
  double warmup_share = 0;    // w, part of all steps
  double area = 1;            // A, of the part after the warm-up
  double final_fraction = 0;  // f: the part of the floor that moves with the peak
  double floor = 0;           // c: the part that does not, a rate
};

/// (1), a step: the mean rate of a long run.
double mean_rate(const ScheduleShape& shape, double peak);
/// (2): the peak at which mean_rate(shape, peak) is `mean`. Throws UserError when the floor alone
/// exceeds it.
double peak_of_mean_rate(const ScheduleShape& shape, double mean);
/// The peak of `shape` with the area of `reference` at `reference_peak`.
double equal_area_peak(const ScheduleShape& shape, const ScheduleShape& reference,
                       double reference_peak);

/// The same with sums over the steps of a run instead of areas. decay_sum: sum of g over the
/// `steps` - `warmup` steps after the warm-up, floor: c.
double summed_rate(int64_t steps, int64_t warmup, double decay_sum, double floor, double peak);
double peak_of_summed_rate(int64_t steps, int64_t warmup, double decay_sum, double floor,
                           double sum);

}  // namespace normbench
