// How a CPU kernel meets tensors: when it may run, and how its rows are divided among threads. For
// the *_torch.cpp files only.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <initializer_list>

#include "suite/ops/fused.h"
#include "suite/ops/kernels.h"

namespace normbench::ops {

/// The kernels compute fp32 on the CPU, at least one entry; everything else is the reference's.
inline bool kernel_takes(std::initializer_list<torch::Tensor> tensors) {
  if (!fused()) return false;
  for (const auto& x : tensors) {
    if (x.scalar_type() != torch::kFloat || !x.device().is_cpu() || x.numel() == 0) return false;
  }
  return true;
}

/// A kernel's gradient is no function of autograd's: a second derivative through it would silently
/// miss terms.
inline void refuse_second_derivative(const char* op) {
  TORCH_CHECK(!at::GradMode::is_enabled(), op,
              ": the kernel is differentiable once, but a gradient with create_graph was ",
              "asked for; call ops::set_fused(false) before the forward pass");
}

constexpr int64_t kRowsPerBlock =
    128;  // fixed: sums over rows group the same way for every number of threads

inline int64_t num_blocks(int64_t rows) { return (rows + kRowsPerBlock - 1) / kRowsPerBlock; }

/// f(block, rows) for every block of rows, on as many threads as there are.
template <class F>
void each_block(int64_t rows, int64_t n, F f) {
  at::parallel_for(0, num_blocks(rows), 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      f(block,
        cpu::RowRange{block * kRowsPerBlock, std::min(rows, (block + 1) * kRowsPerBlock), n});
    }
  });
}

/// The blocks' shares of a parameter gradient, [blocks, n].
inline torch::Tensor block_shares(int64_t rows, int64_t n, const torch::Tensor& like) {
  return at::zeros({num_blocks(rows), n}, like.options());
}

/// Their sum in the order of the rows.
inline torch::Tensor sum_in_order(const torch::Tensor& shares) {
  auto total = shares[0];
  for (int64_t block = 1; block < shares.size(0); ++block) total.add_(shares[block]);
  return total.clone();
}

inline float* data(const torch::Tensor& x) { return x.data_ptr<float>(); }

}  // namespace normbench::ops
