// How well anGPT's constants do what they are for: by how much the norm that a factor is to set to
// 1 misses it, over random unit inputs and random matrices with unit rows (the start of a run).
// arXiv 2505.22014 v2, sections 4.2-4.3 and Table N.2, which gives no formula; ours:
//   error = 100 |mean ||nu f(x)|| - 1| percent, over inputs and drawn matrices, for
//   qkv: f(x) = W x, rows of one head, [Dh, D]        uz:  f(x) = W x, [F, D]
//   p:   f(x) = W x, [D, D], where ||x||^2 = D / Dh   d:   f(x) = W x, [D, F]
//        (H heads of norm 1, nu_p = sqrt(Dh / D))     acf: f(u, z) = u SiLU(z), entries of u with
//   alpha: f(h, b) = h + alpha (b - h)                     norm 1, of z with standard deviation 1/2
//   rows    one a drawn matrix: factor, mean_norm
//   values  <factor>_percent
#pragma once

#include "suite/measure/measure.h"

namespace normbench {

struct NuErrorOptions {
  int64_t width = 1024, head_width = 64, mlp_width = 4096;  // D, Dh, F of 0.5B
  int64_t matrices = 8;                                     // drawn for each factor
  int64_t inputs = 256;                                     // unit vectors for each matrix
  double alpha = 0.05;                                      // the step size at the start
  double nu_acf = 3.74;                                     // the paper's

  template <class Visitor>
  void fields(Visitor& v) {
    v.number("width", width, at_least(1));
    v.number("head_width", head_width, at_least(1));
    v.number("mlp_width", mlp_width, at_least(1));
    v.number("matrices", matrices, at_least(1));
    v.number("inputs", inputs, at_least(1));
    v.number("alpha", alpha, between(0, 1));
    v.number("nu_acf", nu_acf, above(0));
  }
};

void measure_nu_error(const NuErrorOptions& options, uint64_t seed, Rows& rows);

MeasureEntry nu_error();

}  // namespace normbench
