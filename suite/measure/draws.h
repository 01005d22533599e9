// Random matrices and vectors in fp64, each a pure function of (seed, name): adding one changes no
// other.
#pragma once

#include <torch/types.h>

#include <string>

namespace normbench {

/// Entries N(0, std^2).
torch::Tensor normal_draw(torch::IntArrayRef shape, double std, uint64_t seed,
                          const std::string& name);
/// Uniform on the unit sphere: [n].
torch::Tensor unit_draw(int64_t n, uint64_t seed, const std::string& name);
/// G G^T with spectral norm 1, G: [n, n] normal.
torch::Tensor wishart_draw(int64_t n, uint64_t seed, const std::string& name);
/// Uniform in {0, ..., bound - 1}, int64.
torch::Tensor integer_draw(torch::IntArrayRef shape, int64_t bound, uint64_t seed,
                           const std::string& name);

/// ||W||_2.
double matrix_norm(const torch::Tensor& w);
/// ||W||_F^2 / ||W||_2^2.
double stable_rank(const torch::Tensor& w);

}  // namespace normbench
